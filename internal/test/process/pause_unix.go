//go:build unix

package process

import "syscall"

// Pause stops the process, as a suspended or starved host does, until Continue.
func (p *Process) Pause() error { return p.Cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets the process go on after Pause.
func (p *Process) Continue() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
