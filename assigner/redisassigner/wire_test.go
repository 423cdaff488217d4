package redisassigner_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A wire cuts a connection of a client, once, where it sends a marker.
type wire struct {
	mu     sync.Mutex
	marker []byte
	after  func() // nil: the server does not get to see it; else the client does not get the answer, and after is called first
	done   bool   // it has been cut
	sent   int    // how often the server got the marker
}

// options returns the options of a client over the wire.
func (w *wire) options(addr string) *redis.Options {
	opt := options(addr)
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &wiredConn{Conn: conn, wire: w}, err
	}
	return opt
}

// cutBefore has the next connection cut on which the marker is sent.
func (w *wire) cutBefore(marker string) { w.arm(marker, nil) }

// cutAfter has it cut when the server has answered.
func (w *wire) cutAfter(marker string, then func()) { w.arm(marker, then) }

func (w *wire) arm(marker string, after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marker, w.after, w.done, w.sent = []byte(marker), after, false, 0
}

// wantSent checks how often the server got to see the marker.
func (w *wire) wantSent(t *testing.T, want int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent != want {
		t.Errorf("the server got the call %d times, want %d", w.sent, want)
	}
}

// wiredConn is used by one goroutine at a time.
type wiredConn struct {
	net.Conn
	wire *wire
	mute func() // called when an answer has arrived that is to be held back
}

func (c *wiredConn) Write(b []byte) (int, error) {
	cut, after := c.wire.passes(b)
	if cut && after == nil {
		return 0, io.ErrClosedPipe
	}
	c.mute = after
	return c.Conn.Write(b)
}

func (c *wiredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.mute == nil {
		return n, err
	}
	c.mute()
	c.mute = nil
	_ = c.Close()
	return 0, io.EOF
}

// passes reports whether to cut the connection at a piece of data, and returns the func to call
// after the server's answer, if any.
func (w *wire) passes(sent []byte) (cut bool, after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.marker) == 0 || !bytes.Contains(sent, w.marker) {
		return false, nil
	}
	cut = !w.done
	w.done = true
	if !cut || w.after != nil {
		w.sent++
	}
	if !cut {
		return false, nil
	}
	return true, w.after
}
