//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package fileassigner

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock locks a file and reports true, or false if another open file holds the lock. Closing the
// file, or the end of the process, releases the lock.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	default:
		return false, &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}
