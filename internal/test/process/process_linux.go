package process

import (
	"os/exec"
	"syscall"
)

// RunAs has a command run as a user and a group.
func RunAs(cmd *exec.Cmd, uid, gid int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// Pause stops the process, as a suspended or starved host does, until Continue.
func (p *Process) Pause() error { return p.Cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets the process go on after Pause.
func (p *Process) Continue() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
