//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package fileassigner

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w on %s: it has no lock that ends with its process", errors.ErrUnsupported, runtime.GOOS)
}

func unlock(*os.File) {}

func (f *folder) syncNames() error { return f.dir.Sync() }
