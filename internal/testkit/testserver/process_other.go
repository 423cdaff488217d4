//go:build !linux

package testserver

import "os/exec"

// setAttributes does nothing: elsewhere servers run as the user of the test.
func setAttributes(*exec.Cmd, *account) {}

// kill kills the process. Children of it are left to notice that.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.done
}
