//go:build linux

package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A person is a pseudo-terminal with its screen.
type person struct {
	tty, keys *os.File // the end of the command, and the end of the person

	mu     sync.Mutex
	screen bytes.Buffer
}

func sitDown(t *testing.T) *person {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	p := &person{tty: tty, keys: keys}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p, keys) // until the terminal is closed
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = keys.Close()
		<-read
	})
	return p
}

// Write adds the output of the command to the screen.
func (p *person) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.Write(text)
}

func (p *person) sees() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}

// runs runs the command at the terminal, and types an answer once a question appears.
func (p *person) runs(t *testing.T, answer string, args ...string) (code int) {
	t.Helper()
	done := make(chan int)
	go func() { done <- Main(args, p.tty, p.tty, p.tty) }()
	if answer != "" {
		testkit.Until(t, "the question", func() bool { return strings.HasSuffix(p.sees(), "[y/N] ") })
		if _, err := io.WriteString(p.keys, answer); err != nil {
			t.Fatal(err)
		}
	}
	return <-done
}

func TestChangesAskOnATerminal(t *testing.T) {
	url := sqlite(t)
	generator(t, url, "holder", 2*time.Second)
	for _, row := range []struct {
		answer string
		code   int
		state  string
	}{
		{"n\n", exitUnconfirmed, "held"}, {"\n", exitUnconfirmed, "held"}, {"\x04", exitUnconfirmed, "held"}, {"yes!\n", exitUnconfirmed, "held"}, {"Y\n", exitOK, "revoked"},
	} {
		p := sitDown(t)
		if code := p.runs(t, row.answer, "workers", "revoke", "0"); code != row.code {
			t.Errorf("answer %q: exit code %d, want %d", row.answer, code, row.code)
		}
		if got := rowOf(t).State; got != row.state {
			t.Errorf("answer %q: the row is %s, want %s", row.answer, got, row.state)
		}
		if !strings.Contains(p.sees(), `Take worker ID 0 of namespace "orders" from "holder", which will have to take another one? [y/N] `) {
			t.Errorf("screen\n%s", p.sees())
		}
	}
	p := sitDown(t)
	if code := p.runs(t, "yes\n", "workers", "recover", "--ahead", "1h"); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.sees())
	}
	testkit.Until(t, "the answer", func() bool { return strings.Contains(p.sees(), "raised by 1h0m0s") })
}
