//go:build !linux

package vmclock

import (
	"context"
	"errors"
	"fmt"
)

// Watch returns an error in which errors.Is finds [errors.ErrUnsupported]: only Linux has the
// counter.
func Watch(context.Context, func()) error {
	return fmt.Errorf("vmclock: %w: only on Linux", errors.ErrUnsupported)
}
