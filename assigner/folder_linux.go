package assigner

import (
	"fmt"
	"os"
	"syscall"
)

// faults names a file system on which flock, or what fsync has acknowledged, does not hold for all its users. The
// numbers are those of statfs(2).
func (f *folder) faults() ([]string, error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Fstatfs(int(f.dir.Fd()), &st)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return nil, os.NewSyscallError("fstatfs", err)
		}
	}
	const remote, memory = "a file system of other hosts", "a file system in memory"
	kind := func(name, what string) []string {
		return []string{fmt.Sprintf("the folder is on %s, %s (allowed: a local disk)", name, what)}
	}
	switch uint32(st.Type) {
	case 0x6969:
		return kind("NFS", remote), nil
	case 0x517b, 0xff534d42, 0xfe534d42:
		return kind("SMB", remote), nil
	case 0x01021997:
		return kind("9P", remote), nil
	case 0x5346414f, 0x6b414653:
		return kind("AFS", remote), nil
	case 0x00c36400:
		return kind("Ceph", remote), nil
	case 0x0bd00bd0:
		return kind("Lustre", remote), nil
	case 0x47504653:
		return kind("GPFS", remote), nil
	case 0x7461636f:
		return kind("OCFS2", remote), nil
	case 0x01161970:
		return kind("GFS2", remote), nil
	case 0x65735546:
		return kind("FUSE", "which may be "+remote), nil
	case 0x01021994:
		return kind("tmpfs", memory), nil
	case 0x858458f6:
		return kind("ramfs", memory), nil
	}
	return nil, nil
}
