package faultconn

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// open opens a connection over a wire, whose other end sends back all that it receives.
func open(t *testing.T, w *Wire) net.Conn {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		_, _ = io.Copy(far, far)
	}()
	conn := w.Wrap(near)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // an error says that it is cut already
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
	for name, tt := range map[string]struct {
		fault   Fault
		answers bool
		takes   time.Duration
	}{
		"delay":     {Fault{Delay: time.Second}, true, time.Second},
		"few bytes": {Fault{Most: 1000}, false, 0},
		"mute":      {Fault{Mute: true}, false, time.Minute}, // the deadline
	} {
		for _, d := range []Direction{Up, Down} {
			t.Run(name+[]string{" up", " down"}[d], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var w Wire
					old := open(t, &w)
					wantAnswer(t, old, "before", true)
					heal := w.Inject(d, tt.fault)
					for _, conn := range []net.Conn{old, open(t, &w)} {
						began := time.Now()
						wantAnswer(t, conn, strings.Repeat("x", 3000), tt.answers)
						if took := time.Since(began); took != tt.takes && !tt.fault.Mute {
							t.Errorf("took %v, want %v", took, tt.takes)
						}
					}
					heal()
					wantAnswer(t, open(t, &w), "healed", true)
					up := w.Down()
					wantAnswer(t, open(t, &w), "down", false)
					up()
					wantAnswer(t, open(t, &w), "after", true)
				})
			})
		}
	}
}
