package disk

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// fileSystems has the file systems that may not keep locks or acknowledged writes for all users of
// a store, by their numbers in statfs(2).
var fileSystems = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x01021997: "9P", 0x5346414f: "AFS", 0x6b414653: "AFS",
	0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x7461636f: "OCFS2", 0x01161970: "GFS2", 0x65735546: "FUSE",
	0x01021994: "tmpfs", 0x858458f6: "ramfs",
}

// Faults names the file system at path if it may not keep locks or acknowledged writes (fsync) for
// all users of a store. subject begins the text: "the folder".
func Faults(path, subject string) ([]string, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(path, &st)
	for err == syscall.EINTR {
		err = syscall.Statfs(path, &st)
	}
	if err != nil {
		return nil, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	name, kind := fileSystems[uint32(st.Type)], "a file system of other hosts"
	switch name {
	case "":
		return nil, nil
	case "FUSE":
		kind = "which may be " + kind
	case "tmpfs", "ramfs":
		kind = "a file system in memory"
	}
	return []string{fmt.Sprintf("%s is on %s, %s (allowed: a local disk)", subject, name, kind)}, nil
}

// statx has the numbers of the system call statx(2), which package syscall lacks.
var statx = map[string]uintptr{"amd64": 332, "arm64": 291, "riscv64": 291, "loong64": 291, "386": 383, "ppc64": 383, "ppc64le": 383,
	"arm": 397, "s390x": 379}

// birth returns the time at which the file was made, or "" if the kernel or the file system does
// not report it.
func birth(path string) string {
	const (
		wantBirth = 0x800 // STATX_BTIME
		birthAt   = 80    // offset of the seconds in struct statx; the nanoseconds follow
	)
	name, err := syscall.BytePtrFromString(path)
	number, known := statx[runtime.GOARCH]
	if err != nil || !known {
		return ""
	}
	var result [256]byte
	workingFolder := -100 // AT_FDCWD
	_, _, errno := syscall.Syscall6(number, uintptr(workingFolder), uintptr(unsafe.Pointer(name)), 0, wantBirth,
		uintptr(unsafe.Pointer(&result)), 0)
	if errno != 0 || binary.NativeEndian.Uint32(result[:])&wantBirth == 0 {
		return ""
	}
	return fmt.Sprintf("%x.%x", binary.NativeEndian.Uint64(result[birthAt:]), binary.NativeEndian.Uint32(result[birthAt+8:]))
}
