package testserver

import (
	"os/exec"
	"syscall"
)

// runAs has a command run as an account.
func runAs(cmd *exec.Cmd, as *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}}
}
