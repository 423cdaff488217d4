//go:build unix

package load

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time of all threads of the process so far, in user and system mode.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
