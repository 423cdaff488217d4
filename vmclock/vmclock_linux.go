package vmclock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// device is the counter's page, which the hypervisor writes.
const device = "/dev/vmclock0"

// Offsets in struct vmclock_abi, and its values in little-endian order.
const (
	magicAt, magic             = 0, 0x4b4c4356
	flagsAt, generationPresent = 24, 1 << 8
	generationAt               = 104
)

// Open reads the counter. Call it one time, before New of the generators: a resumption between New
// and Open is not noticed. It returns an error if the kernel or the hypervisor has no such counter;
// errors.Is finds [errors.ErrUnsupported] in it. Its page stays mapped until the process ends.
func Open() (*Watcher, error) { return open(device) }

func open(path string) (*Watcher, error) {
	page, err := mapped(path)
	if err != nil {
		return nil, fmt.Errorf("vmclock: %w", err)
	}
	generation := func() uint64 { return binary.LittleEndian.Uint64(page[generationAt:]) }
	return &Watcher{generation, generation()}, nil
}

// mapped maps the page of the device, and checks that it has the counter.
func mapped(path string) ([]byte, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: %s is missing", errors.ErrUnsupported, path)
	case err != nil:
		return nil, err
	}
	defer file.Close() // the mapping stays
	page, err := syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	if binary.LittleEndian.Uint32(page[magicAt:]) != magic || binary.LittleEndian.Uint64(page[flagsAt:])&generationPresent == 0 {
		return nil, errors.Join(fmt.Errorf("%w: %s has no VM_GEN_COUNTER", errors.ErrUnsupported, path), syscall.Munmap(page))
	}
	return page, nil
}
