//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"syscall"
)

// place returns device and inode.
func place(_ string, info fs.FileInfo) (string, error) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%x:%x", st.Dev, st.Ino), nil
	}
	return "", nil
}
