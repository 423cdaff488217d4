//go:build !unix

package process

import "errors"

// Pause returns an error: this system cannot stop a process.
func (*Process) Pause() error { return errors.ErrUnsupported }

// Continue returns an error, as Pause does.
func (*Process) Continue() error { return errors.ErrUnsupported }
