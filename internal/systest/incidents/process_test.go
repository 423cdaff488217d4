package incidents_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process is a child with a generator. It belongs to the goroutine of the test, which fails when
// the process does not do as it is told.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	ended  <-chan error
	killed bool // by the test
}

// processes starts a process for each service, all of them without a generator. They end with the
// test, and fail it when they end badly, as they do when the race detector has found something.
func processes(t *testing.T, services ...service) []*process {
	t.Helper()
	all := make([]*process, len(services))
	for i, s := range services {
		all[i] = newProcess(t, s)
	}
	t.Cleanup(func() {
		for _, p := range all { // all are told before one is waited for: under the race detector each takes a second
			_ = p.stdin.Close()
		}
		for _, p := range all {
			p.wait()
		}
	})
	return all
}

func newProcess(t *testing.T, s service) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), serviceEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	setAttributes(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not cmd.StdoutPipe: Wait would close it before all output of a killed process is read.
	stdout, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdout.Close() })
	cmd.Stdout = writer
	ended, err := launch(cmd)
	_ = writer.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &process{t: t, cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout), ended: ended}
}

// launch starts a command. The thread that started it is held until it has ended: on Linux the
// child is killed when that thread ends, which it then does with the whole program only.
func launch(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, end := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return end, <-started
}

// wait waits for the end of a process whose standard input has ended, or that was killed.
func (p *process) wait() {
	p.t.Helper()
	select {
	case err := <-p.ended:
		if err != nil && !p.killed {
			p.t.Errorf("process %d: %v", p.cmd.Process.Pid, err)
		}
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		p.t.Errorf("process %d did not end within %v", p.cmd.Process.Pid, patience)
	}
}

func (p *process) tell(command string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, command+"\n"); err != nil {
		p.t.Fatalf("process %d: %s: %v", p.cmd.Process.Pid, command, err)
	}
}

// line returns the next line of the process.
func (p *process) line() string {
	p.t.Helper()
	text, err := p.stdout.ReadString('\n')
	if err != nil {
		p.t.Fatalf("process %d said %q, then %v", p.cmd.Process.Pid, text, err)
	}
	return strings.TrimSuffix(text, "\n")
}

func (p *process) expect(want string) {
	p.t.Helper()
	if line := p.line(); line != want {
		p.t.Fatalf("process %d said %q, want %q", p.cmd.Process.Pid, line, want)
	}
}

// worker returns the number that the process answers start with.
func (p *process) worker() int64 {
	p.t.Helper()
	return p.number("worker ")
}

func (p *process) number(prefix string) int64 {
	p.t.Helper()
	line := p.line()
	text, ok := strings.CutPrefix(line, prefix)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		p.t.Fatalf("process %d said %q, want %q and a number", p.cmd.Process.Pid, line, prefix)
	}
	return n
}

// read returns the next n IDs that the process draws.
func (p *process) read(n int) []int64 {
	p.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = p.number("")
	}
	return ids
}

// draw has the process take n IDs.
func (p *process) draw(n int) []int64 {
	p.t.Helper()
	p.tell(fmt.Sprint("draw ", n))
	ids := p.read(n)
	p.expect("drawn")
	return ids
}

// close has the process close its generator.
func (p *process) close() {
	p.t.Helper()
	p.tell("close")
	p.expect("closed")
}

// kill kills the process at any point of its work. It returns the IDs that the process had written,
// without a truncated last ID.
func (p *process) kill() (ids []int64) {
	p.t.Helper()
	p.killed = true
	_ = p.cmd.Process.Kill() // an error says that it has ended, which is seen below
	for {
		text, err := p.stdout.ReadString('\n')
		if err != nil {
			return ids
		}
		id, err := strconv.ParseInt(strings.TrimSuffix(text, "\n"), 10, 64)
		if err != nil {
			p.t.Errorf("process %d said %q before it was killed, want IDs", p.cmd.Process.Pid, text)
			return ids
		}
		ids = append(ids, id)
	}
}
