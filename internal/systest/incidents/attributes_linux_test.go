package incidents_test

import (
	"os/exec"
	"syscall"
)

// setAttributes makes the kernel kill the child when the tests die: a stopped child would stay for
// ever.
func setAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
