//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package fileassigner

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w on %s: it needs flock", errors.ErrUnsupported, runtime.GOOS)
}
