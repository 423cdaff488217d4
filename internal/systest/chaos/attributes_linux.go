package chaos

import (
	"os/exec"
	"syscall"
)

// setAttributes makes the kernel kill the child when the run dies: a stopped child would stay for
// ever.
func setAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
