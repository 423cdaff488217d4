//go:build unix

package daemon

import (
	"math"
	"syscall"
)

// openFiles returns the largest number of open files of the process. The runtime has raised it to
// the hard limit.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
