package chaos

import (
	"os/exec"
	"syscall"
)

// setAttributes has the kernel kill the child when the run dies: one that is stopped would stay for
// ever.
func setAttributes(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
