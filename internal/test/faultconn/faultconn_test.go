package faultconn

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echo answers each line with the line. It returns its address, and the lines that it received.
func echo(t *testing.T) (addr string, received chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	received = make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					received <- lines.Text()
					if _, err := io.WriteString(conn, lines.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), received
}

// ways are the ways to a server over a wire.
func ways(t *testing.T, run func(t *testing.T, w *Wire, dial func() net.Conn, received chan string)) {
	t.Run("Wrap", func(t *testing.T) {
		addr, received := echo(t)
		w := new(Wire)
		run(t, w, func() net.Conn {
			conn, err := w.Dial(t.Context(), "tcp", addr)
			return opened(t, conn, err)
		}, received)
	})
	t.Run("Proxy", func(t *testing.T) {
		addr, received := echo(t)
		p := Start(t, addr)
		run(t, p.Wire, func() net.Conn {
			conn, err := net.Dial("tcp", p.Addr())
			return opened(t, conn, err)
		}, received)
	})
}

func opened(t *testing.T, conn net.Conn, err error) net.Conn {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // an error says that it is cut already
	return conn
}

// ask returns the answer to a line, the only data on its way.
func ask(conn net.Conn, line string) (string, error) {
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}

func wantEcho(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if got, err := ask(conn, line); got != line || err != nil {
		t.Errorf("answer %q, %v; want %q", got, err, line)
	}
}

func wantCut(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if got, err := ask(conn, line); err == nil {
		t.Errorf("answer %q, want an error", got)
	}
}

func TestCutBeforeKeepsTheMarkerFromTheServer(t *testing.T) {
	ways(t, func(t *testing.T, w *Wire, dial func() net.Conn, received chan string) {
		conn := dial()
		c := w.CutBefore("mark")
		wantEcho(t, conn, "other")
		if c.Done() {
			t.Error("cut without the marker")
		}
		wantCut(t, conn, "the mark")
		if !c.Done() || c.Sent() != 0 {
			t.Errorf("cut %v, sent %d; want the cut, and none", c.Done(), c.Sent())
		}
		wantEcho(t, dial(), "the mark again")
		if c.Sent() != 1 {
			t.Errorf("sent %d, want 1", c.Sent())
		}
		if a, b := <-received, <-received; a != "other" || b != "the mark again" {
			t.Errorf("the server received %q and %q", a, b)
		}
	})
}

func TestCutAfterKeepsTheAnswerFromTheClient(t *testing.T) {
	ways(t, func(t *testing.T, w *Wire, dial func() net.Conn, received chan string) {
		conn := dial()
		atServer := make(chan string, 1)
		c := w.CutAfter("mark", func() { atServer <- <-received })
		// The marker comes in two pieces.
		if _, err := io.WriteString(conn, "the ma"); err != nil {
			t.Fatal(err)
		}
		wantCut(t, conn, "rk")
		if got := <-atServer; !c.Done() || c.Sent() != 1 || got != "the mark" {
			t.Errorf("cut %v, sent %d, and the server received %q", c.Done(), c.Sent(), got)
		}
		wantEcho(t, dial(), "the mark")
	})
}

func TestRefuseLastsUntilAccept(t *testing.T) {
	addr, _ := echo(t)
	p := Start(t, addr)
	conn, err := net.Dial("tcp", p.Addr())
	conn = opened(t, conn, err)
	wantEcho(t, conn, "before")
	p.Refuse()
	wantCut(t, conn, "refused")
	if conn, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = conn.Close()
		t.Error("a connection was accepted")
	}
	for range 2 {
		if err := p.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	conn, err = net.Dial("tcp", p.Addr())
	wantEcho(t, opened(t, conn, err), "after")
}

func TestInject(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, tt := range []struct {
		name    string
		fault   Fault
		answers bool
		takes   time.Duration // at least
	}{
		{"delay", Fault{Delay: 50 * time.Millisecond, Jitter: time.Millisecond}, true, 50 * time.Millisecond},
		{"rate", Fault{Rate: 60_000}, true, 40 * time.Millisecond},
		{"few bytes", Fault{Most: 1000}, false, 0},
		{"mute", Fault{Mute: true, Ends: 50 * time.Millisecond}, false, 50 * time.Millisecond},
		{"reset", Fault{Mute: true, Ends: 50 * time.Millisecond, Reset: true}, false, 50 * time.Millisecond},
	} {
		for _, d := range []Direction{Up, Down} {
			t.Run(tt.name+[]string{" up", " down"}[d], func(t *testing.T) {
				ways(t, func(t *testing.T, w *Wire, dial func() net.Conn, _ chan string) {
					old := dial()
					wantEcho(t, old, "before")
					began := time.Now()
					heal := w.Inject(d, tt.fault)
					got, err := ask(old, long)
					if answered := err == nil && got == long; answered != tt.answers {
						t.Errorf("answer of %d bytes, %v; want one: %v", len(got), err, tt.answers)
					}
					if took := time.Since(began); took < tt.takes {
						t.Errorf("took %v, want %v at least", took, tt.takes)
					}
					if fresh, err := ask(dial(), long); (err == nil && fresh == long) != tt.answers {
						t.Errorf("answer of %d bytes on a new connection, %v; want one: %v", len(fresh), err, tt.answers)
					}
					heal()
					wantEcho(t, dial(), long)
				})
			})
		}
	}
}
