//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"syscall"
)

// place returns device and inode.
func place(info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%x:%x", st.Dev, st.Ino)
}

// links returns the number of hard links.
func links(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }
