// Package disk identifies the file at a path, and reports file systems that may not keep
// acknowledged writes.
//
// Its functions take paths, and open nothing on Unix. A process that opens and closes a SQLite
// database beside the driver would lose the driver's POSIX locks on the file.
package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Identity returns a text that tells the file at path from its copies: device, inode and, if the
// system reports it, time of birth; on Windows, volume, number and time of creation. It returns ""
// on systems without these.
//
// A rename within a file system keeps the identity, and so does a reboot as long as the device
// keeps its number. The time of birth is part of it because ext4 gives the inode number of a
// deleted file to the next file: a backup that replaces the original often gets the number of the
// original.
//
// The boot ID of the host is no part of it: a reboot changes no file, but would quarantine every
// worker ID. If another disk takes over the device number at a reboot, inode and birth tell the
// files apart. A clone of the disk cannot be told apart by any data on it.
func Identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	where, err := place(path, info)
	if where == "" || err != nil {
		return "", err
	}
	if born := birth(path); born != "" {
		where += ":" + born
	}
	return where, nil
}

// IsOpen reports whether this process has the file at path open. It returns true if the system does
// not report that.
func IsOpen(path string) (bool, error) {
	const descriptors = "/proc/self/fd"
	want, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	entries, err := os.ReadDir(descriptors)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		// A descriptor that was closed meanwhile has no information.
		if info, err := os.Stat(descriptors + "/" + entry.Name()); err == nil && os.SameFile(want, info) {
			return true, nil
		}
	}
	return false, nil
}
