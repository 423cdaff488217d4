package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func setAttributes(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// Kill kills the process, waits until it has ended, then kills its children: children of PostgreSQL
// hold the data folder until they notice the end of their parent. It does nothing to a process that
// has ended.
func (p *Process) Kill() {
	select {
	case <-p.ended: // another process may have its number now
		return
	default:
	}
	pid := p.Cmd.Process.Pid
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	_ = p.Cmd.Process.Kill() // an error says that it has ended
	<-p.ended
	for child := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
