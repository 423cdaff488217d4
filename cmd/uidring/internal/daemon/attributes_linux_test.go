package daemon

import (
	"os/exec"
	"syscall"
)

// setAttributes has the kernel kill a child when the thread that started it ends.
func setAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
