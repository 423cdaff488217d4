package fileassigner

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// The arguments and an error of LockFileEx. A locked byte cannot be read by other handles, so the
// lock is on a byte far behind the end of the file.
const (
	failImmediately = 1
	exclusive       = 2
	lockViolation   = syscall.Errno(33)
	lockOffsetHigh  = 1 << 30
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

// tryLock locks a file and reports true, or false if another handle holds the lock.
func tryLock(f *os.File) (bool, error) {
	position := syscall.Overlapped{OffsetHigh: lockOffsetHigh}
	ok, _, err := lockFileEx.Call(f.Fd(), failImmediately|exclusive, 0, 1, 0, uintptr(unsafe.Pointer(&position)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, lockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, &fs.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
}

// unlock releases the lock. Windows does it some time after the handle is closed.
func unlock(f *os.File) {
	position := syscall.Overlapped{OffsetHigh: lockOffsetHigh}
	_, _, _ = unlockFileEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&position)))
}

// syncNames makes a rename durable. Windows does not sync folders. It flushes the file instead:
// NTFS and ReFS then write their log, which has the rename.
func (f *folder) syncNames() error {
	state, err := f.root.OpenFile(stateName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(state.Sync(), state.Close())
}
