// Package process starts child processes for tests.
//
// A child ends at the latest with the test process, even if that is killed: the kernel of Linux
// kills the child, and elsewhere the end of a [Child]'s standard input should make it exit.
package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A Process is a child that was started. Any number of goroutines may use it.
type Process struct {
	Cmd   *exec.Cmd
	ended chan struct{}
	err   error // of Wait; to be read after ended
}

// Start starts a command. Linux kills a child when the thread that started it ends; Start holds
// that thread until the child has ended, so that the thread ends early only with the test process.
func Start(cmd *exec.Cmd) (*Process, error) {
	dieWithParent(cmd)
	p := &Process{Cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait waits until the process has ended, and returns the error of [exec.Cmd.Wait]. It may be
// called any number of times.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// Kill kills the process, waits until it has ended, then kills its children where the system lists
// them: children of PostgreSQL hold the data folder until they notice the end of their parent. It
// does nothing to a process that has ended.
func (p *Process) Kill() {
	select {
	case <-p.ended: // another process may have its number now
		return
	default:
	}
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.Cmd.Process.Pid))
	_ = p.Cmd.Process.Kill() // an error says that it has ended
	<-p.ended
	for child := range strings.FieldsSeq(string(list)) {
		pid, _ := strconv.Atoi(child)
		if c, err := os.FindProcess(pid); err == nil {
			_ = c.Kill()
		}
	}
}

// A Child is a process with pipes to its standard input and from its standard output. The caller
// closes both. All output of a child that was killed remains readable.
type Child struct {
	*Process
	Stdin  io.WriteCloser
	Stdout *os.File
	lines  *bufio.Reader // of Stdout
}

// StartChild starts a command as a Child that shares the standard error of this process.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not cmd.StdoutPipe: Wait would close it before all output of a killed process is read.
	stdout, writer, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	cmd.Stdout, cmd.Stderr = writer, os.Stderr
	p, err := Start(cmd)
	_ = writer.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	return &Child{p, stdin, stdout, bufio.NewReader(stdout)}, nil
}

// Line returns the next line of the child's standard output without its end, and an error with an
// incomplete last one. It reads ahead: read Stdout directly, or by Line.
func (c *Child) Line() (string, error) {
	text, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(text, "\n"), err
}

// Again returns the command that runs this program again with arguments. In the child, [Role] reads
// role, which has to be fit for JSON, from the environment variable.
func Again(variable string, role any, args ...string) *exec.Cmd {
	program, err := os.Executable()
	text, errRole := json.Marshal(role)
	if err := errors.Join(err, errRole); err != nil {
		panic(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return cmd
}

// Play starts a command of [Again] as a Child of the test, which kills it in the end.
func Play(t testing.TB, variable string, role any, args ...string) *Child {
	t.Helper()
	return Run(t, Again(variable, role, args...))
}

// Run starts a command as a Child of the test, which kills it in the end.
func Run(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
	c, err := StartChild(cmd)
	testkit.Must(t, err)
	t.Cleanup(func() {
		c.Kill()
		_, _ = c.Stdin.Close(), c.Stdout.Close() // the test may have closed them
	})
	return c
}

// Role reports whether this process was started by a command of [Again] with the variable, and then
// sets *role. A TestMain calls it before anything else.
func Role(variable string, role any) (ok bool, err error) {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), role)
}
