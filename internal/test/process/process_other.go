//go:build !linux

package process

import "os/exec"

func setAttributes(*exec.Cmd) {}

// Kill kills the process and waits until it has ended. Its children notice its end by themselves.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // an error says that it has ended
	<-p.ended
}
