package incidents_test

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/process"
)

// A child is a process with a generator. It belongs to the goroutine of the test, which fails when
// the process does not do as it is told.
type child struct {
	*process.Child
	t      *testing.T
	killed bool // by the test
}

// processes starts a process for each service, all of them without a generator. They end with the
// test, and fail it when they end badly, as they do when the race detector has found something.
func processes(t *testing.T, services ...service) []*child {
	t.Helper()
	all := make([]*child, len(services))
	for i, s := range services {
		all[i] = newChild(t, s)
	}
	t.Cleanup(func() {
		for _, p := range all { // all are told before one is waited for: under the race detector each takes a second
			_ = p.Stdin.Close()
		}
		for _, p := range all {
			p.wait()
		}
	})
	return all
}

func newChild(t *testing.T, s service) *child {
	t.Helper()
	c := process.Play(t, serviceEnv, s)
	if err := c.Stdout.SetReadDeadline(time.Now().Add(poll.Patience)); err != nil {
		t.Fatal(err)
	}
	return &child{Child: c, t: t}
}

// wait waits for the end of a process whose standard input has ended, or that was killed.
func (p *child) wait() {
	p.t.Helper()
	select {
	case <-p.Ended():
		if err := p.Wait(); err != nil && !p.killed {
			p.t.Errorf("process %d: %v", p.pid(), err)
		}
	case <-time.After(poll.Patience):
		p.Kill()
		p.t.Errorf("process %d did not end within %v", p.pid(), poll.Patience)
	}
}

func (p *child) pid() int { return p.Cmd.Process.Pid }

func (p *child) tell(command string) {
	p.t.Helper()
	if _, err := io.WriteString(p.Stdin, command+"\n"); err != nil {
		p.t.Fatalf("process %d: %s: %v", p.pid(), command, err)
	}
}

// line returns the next line of the process.
func (p *child) line() string {
	p.t.Helper()
	text, err := p.Line()
	if err != nil {
		p.t.Fatalf("process %d said %q, then %v", p.pid(), text, err)
	}
	return text
}

func (p *child) expect(want string) {
	p.t.Helper()
	if line := p.line(); line != want {
		p.t.Fatalf("process %d said %q, want %q", p.pid(), line, want)
	}
}

// worker returns the number that the process answers start with.
func (p *child) worker() int64 {
	p.t.Helper()
	return p.number("worker ")
}

func (p *child) number(prefix string) int64 {
	p.t.Helper()
	line := p.line()
	text, ok := strings.CutPrefix(line, prefix)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		p.t.Fatalf("process %d said %q, want %q and a number", p.pid(), line, prefix)
	}
	return n
}

// read returns the next n IDs that the process draws.
func (p *child) read(n int) []int64 {
	p.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = p.number("")
	}
	return ids
}

// draw has the process take n IDs.
func (p *child) draw(n int) []int64 {
	p.t.Helper()
	p.tell(fmt.Sprint("draw ", n))
	ids := p.read(n)
	p.expect("drawn")
	return ids
}

// close has the process close its generator.
func (p *child) close() {
	p.t.Helper()
	p.tell("close")
	p.expect("closed")
}

// kill kills the process at any point of its work. It returns the IDs that the process had written,
// without a truncated last ID.
func (p *child) kill() (ids []int64) {
	p.t.Helper()
	p.killed = true
	p.Kill()
	for {
		text, err := p.Line()
		if err != nil {
			return ids
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			p.t.Errorf("process %d said %q before it was killed, want IDs", p.pid(), text)
			return ids
		}
		ids = append(ids, id)
	}
}
