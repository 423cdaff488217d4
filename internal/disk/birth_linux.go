package disk

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// statxNumber is the number of the system call statx(2), which package syscall lacks, or 0.
func statxNumber() uintptr {
	switch runtime.GOARCH {
	case "amd64":
		return 332
	case "arm64", "riscv64", "loong64":
		return 291
	case "386", "ppc64", "ppc64le":
		return 383
	case "arm":
		return 397
	case "s390x":
		return 379
	}
	return 0
}

// birth returns the time at which the file was made, or "" if the kernel or the file system does
// not report it.
func birth(path string) string {
	const (
		workingFolder = -100  // AT_FDCWD
		wantBirth     = 0x800 // STATX_BTIME
		birthAt       = 80    // offset of the seconds in struct statx; the nanoseconds follow
	)
	number := statxNumber()
	name, err := syscall.BytePtrFromString(path)
	if number == 0 || err != nil {
		return ""
	}
	var result [256]byte
	folder := workingFolder
	_, _, errno := syscall.Syscall6(number, uintptr(folder), uintptr(unsafe.Pointer(name)), 0, wantBirth,
		uintptr(unsafe.Pointer(&result)), 0)
	if errno != 0 || binary.NativeEndian.Uint32(result[:])&wantBirth == 0 {
		return ""
	}
	seconds := binary.NativeEndian.Uint64(result[birthAt:])
	nanoseconds := binary.NativeEndian.Uint32(result[birthAt+8:])
	return fmt.Sprintf("%x.%x", seconds, nanoseconds)
}
