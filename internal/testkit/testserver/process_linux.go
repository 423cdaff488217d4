package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func setAttributes(cmd *exec.Cmd, as *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
}

// kill kills the process, then its children: PostgreSQL's children hold the data folder until they
// notice the end of their parent.
func (p *process) kill() {
	pid := p.cmd.Process.Pid
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.done
	for child := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
