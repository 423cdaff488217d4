// Package disk identifies the file at a path, and reports file systems that may not keep
// acknowledged writes and files with a second path.
//
// Its functions take paths, and open nothing on Unix. A process that opens and closes a SQLite
// database beside the driver would lose the driver's POSIX locks on the file.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Identity returns a text that tells the file at path from its copies: device, inode and, if the
// system reports it, time of birth. It returns "" on systems without these, such as Windows.
//
// A rename within a file system keeps the identity, and so does a reboot as long as the device
// keeps its number. The time of birth is part of it because ext4 gives the inode number of a
// deleted file to the next file: a backup that replaces the original often gets the number of the
// original.
//
// The boot ID of the host is no part of it: a reboot changes no file, but would quarantine every
// worker ID. If another disk takes over the device number at a reboot, inode and birth tell the
// files apart. Only the device tells a snapshot of a btrfs subvolume from the original. A clone of
// the disk cannot be told apart by any data on it.
func Identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	where := place(info)
	if born := birth(path); where != "" && born != "" {
		where += ":" + born
	}
	return where, nil
}

// PathFaults reports a second path to the file at path: a hard link or, on Linux, a mount of the
// file alone. Files beside it, such as a lock or a log, differ between the paths. subject begins
// the text.
func PathFaults(path, subject string) (faults []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if n := links(info); n > 1 {
		faults = append(faults, fmt.Sprintf("%s has %d hard links (allowed: 1; the other path leads to another store with the same worker IDs)", subject, n))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return faults, nil
	}
	real, errReal := filepath.EvalSymlinks(path)
	real, errAbs := filepath.Abs(real)
	if isMountPoint(string(mounts), real) {
		faults = append(faults, subject+" is a mount point (allowed: a file in a mounted folder; mount the folder, not the file)")
	}
	return faults, errors.Join(err, errReal, errAbs)
}

// isMountPoint looks for a path without symbolic links in the text of mountinfo(5). Its fifth field
// is the mount point, with some characters in octal.
func isMountPoint(mountinfo, path string) bool {
	path = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
	for line := range strings.SplitSeq(mountinfo, "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
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
