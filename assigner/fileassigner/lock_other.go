//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

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
