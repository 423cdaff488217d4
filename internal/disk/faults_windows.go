package disk

import (
	"fmt"
	"io/fs"
	"syscall"
	"unsafe"
)

var (
	kernel32          = syscall.NewLazyDLL("kernel32.dll")
	getVolumePathName = kernel32.NewProc("GetVolumePathNameW")
	getDriveType      = kernel32.NewProc("GetDriveTypeW")
)

// Faults names the drive at path if it may not keep locks or acknowledged writes for all users of a
// store. subject begins the text: "the folder".
func Faults(path, subject string) ([]string, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	volume := make([]uint16, 32<<10) // the longest path
	ok, _, err := getVolumePathName.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&volume[0])), uintptr(len(volume)))
	if ok == 0 {
		return nil, &fs.PathError{Op: "GetVolumePathName", Path: path, Err: err}
	}
	kind, _, _ := getDriveType.Call(uintptr(unsafe.Pointer(&volume[0])))
	what := map[uintptr]string{4: "a drive of another host", 6: "a drive in memory"}[kind]
	if what == "" {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s is on %s, %s (allowed: a local disk)", subject, syscall.UTF16ToString(volume), what)}, nil
}
