package disk

import (
	"fmt"
	"os"
	"syscall"
)

// Faults names the file system at path if it may not keep locks or acknowledged writes (fsync) for
// all users of a store. subject begins the text: "the folder". The numbers are from statfs(2).
func Faults(path, subject string) ([]string, error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &st)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return nil, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
	}
	const remote, memory = "a file system of other hosts", "a file system in memory"
	kind := func(name, what string) []string {
		return []string{fmt.Sprintf("%s is on %s, %s (allowed: a local disk)", subject, name, what)}
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
