//go:build !linux

package vmclock

import (
	"errors"
	"fmt"
)

// Open returns an error in which errors.Is finds [errors.ErrUnsupported]: only Linux has the
// counter.
func Open() (*Watcher, error) {
	return nil, fmt.Errorf("vmclock: %w: only on Linux", errors.ErrUnsupported)
}
