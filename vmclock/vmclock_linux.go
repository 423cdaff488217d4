package vmclock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// device is the counter's page, which the hypervisor writes.
const device = "/dev/vmclock0"

// Offsets in struct vmclock_abi, and its values in little-endian order.
const (
	magicAt, magic             = 0, 0x4b4c4356
	flagsAt, generationPresent = 24, 1 << 8
	generationAt               = 104
)

// Watch calls invalidate soon after each resumption of this virtual machine from a snapshot, until
// ctx ends, and returns nil then. It blocks: call it in a goroutine of its own, and one time for
// all generators. It returns an error at once if the kernel or the hypervisor has no such counter;
// errors.Is finds [errors.ErrUnsupported] in it.
func Watch(ctx context.Context, invalidate func()) error { return watch(ctx, device, invalidate) }

func watch(ctx context.Context, path string, invalidate func()) error {
	page, err := open(path)
	if err != nil {
		return fmt.Errorf("vmclock: %w", err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	generation := func() uint64 { return binary.LittleEndian.Uint64(page[generationAt:]) }
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for last := generation(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if now := generation(); now != last {
				last = now
				invalidate()
			}
		}
	}
}

// open maps the page of the device, and checks that it has the counter.
func open(path string) ([]byte, error) {
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
