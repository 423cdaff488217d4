package faultconn

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echo sends back all that it receives, and returns its address.
func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// dial opens a connection over a proxy.
func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // an error says that it is cut already
	return conn
}

// wantAnswer sends a line, and wants it back, or an error.
func wantAnswer(t *testing.T, conn net.Conn, line string, want bool) {
	t.Helper()
	_, err := io.WriteString(conn, line+"\n")
	answer := ""
	if err == nil {
		answer, err = bufio.NewReader(conn).ReadString('\n')
	}
	if (err == nil && answer == line+"\n") != want {
		t.Errorf("answer of %d bytes, %v; want one: %v", len(answer), err, want)
	}
}

// The cuts are tested by package assignertest, whose broken stores must fail.
func TestInject(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for name, tt := range map[string]struct {
		fault   Fault
		answers bool
		takes   time.Duration // at least
	}{
		"delay":     {Fault{Delay: 50 * time.Millisecond}, true, 50 * time.Millisecond},
		"pieces":    {Fault{Piece: 600, Delay: 10 * time.Millisecond}, true, 50 * time.Millisecond},
		"few bytes": {Fault{Most: 1000}, false, 0},
		"mute":      {Fault{Mute: true}, false, 50 * time.Millisecond},
	} {
		for _, d := range []Direction{Up, Down} {
			t.Run(name+[]string{" up", " down"}[d], func(t *testing.T) {
				p := Start(t, echo(t))
				began := time.Now()
				old, later := dial(t, p), dial(t, p)
				wantAnswer(t, old, "before", true)
				heal := p.Inject(d, tt.fault)
				for _, conn := range []net.Conn{old, later} {
					if tt.fault.Mute {
						_ = conn.SetDeadline(time.Now().Add(tt.takes))
					}
					wantAnswer(t, conn, long, tt.answers)
				}
				if took := time.Since(began); took < tt.takes {
					t.Errorf("took %v, want %v at least", took, tt.takes)
				}
				heal()
				wantAnswer(t, dial(t, p), long, true)
				up := p.Down()
				wantAnswer(t, dial(t, p), "down", false)
				up()
				wantAnswer(t, dial(t, p), "after", true)
			})
		}
	}
}
