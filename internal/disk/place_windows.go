package disk

import (
	"fmt"
	"io/fs"
	"syscall"
)

// place returns the serial number of the volume, the number of the file on it, and the time of
// creation. NTFS gives a file in place of a deleted one another number.
func place(path string, _ fs.FileInfo) (string, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	const shared = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	file, err := syscall.CreateFile(name, 0, shared, nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", &fs.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	defer syscall.CloseHandle(file)
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(file, &info); err != nil {
		return "", &fs.PathError{Op: "GetFileInformationByHandle", Path: path, Err: err}
	}
	return fmt.Sprintf("%x:%x%08x:%x", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow, info.CreationTime.Nanoseconds()), nil
}
