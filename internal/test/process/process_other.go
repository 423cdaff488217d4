//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

// RunAs does nothing: this system runs the command as the user of the test.
func RunAs(*exec.Cmd, int, int) {}

func dieWithParent(*exec.Cmd) {}

// Pause returns an error: tests stop processes on Linux only.
func (*Process) Pause() error { return errors.ErrUnsupported }

// Continue returns an error, as Pause does.
func (*Process) Continue() error { return errors.ErrUnsupported }
