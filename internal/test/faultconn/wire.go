// Package faultconn interrupts the connections between a client and a server in tests: before or
// after a given piece of data, for some time, or by making them slow.
package faultconn

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// A Wire carries connections. The zero Wire passes everything on. All methods may be called at
// once.
type Wire struct {
	mu     sync.Mutex
	cut    *Cut
	down   bool
	faults [2]*injected // by direction; nil: none
	links  map[*link]bool
}

// Wrap returns a connection that carries the data of conn over the wire. A client whose connections
// are encrypted wraps the decrypted side, so that the wire sees the markers of [Wire.CutBefore] and
// [Wire.CutAfter].
func (w *Wire) Wrap(conn net.Conn) net.Conn {
	client, near := net.Pipe()
	go w.serve(near, conn)
	return wrapped{client, conn}
}

// Dial opens a connection over the wire. It fits the dial hook of most clients.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return w.Wrap(conn), nil
}

// wrapped has the addresses of the real connection.
type wrapped struct {
	net.Conn
	real net.Conn
}

func (c wrapped) LocalAddr() net.Addr  { return c.real.LocalAddr() }
func (c wrapped) RemoteAddr() net.Addr { return c.real.RemoteAddr() }

// CutBefore cuts the next connection on which a client sends the marker. The server does not
// receive the data with the marker.
func (w *Wire) CutBefore(marker string) *Cut { return w.arm(&Cut{wire: w, marker: []byte(marker)}) }

// CutAfter cuts the next connection on which a client sends the marker, as soon as the server
// answers. The client does not receive the answer. If then is not nil, CutAfter calls it between
// the answer and the cut.
func (w *Wire) CutAfter(marker string, then func()) *Cut {
	return w.arm(&Cut{wire: w, marker: []byte(marker), after: true, then: then})
}

func (w *Wire) arm(c *Cut) *Cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = c
	return c
}

// Down cuts all connections, and each new one at once, until up is called.
func (w *Wire) Down() (up func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for l := range w.links {
		l.end()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.down = false
	}
}

// serve carries one connection until either side ends it.
func (w *Wire) serve(client, server net.Conn) {
	l := &link{wire: w, client: client, server: server, ended: make(chan struct{})}
	w.add(l)
	var wg sync.WaitGroup
	wg.Go(func() { l.pump(client, server, Up, l.sent) })
	wg.Go(func() { l.pump(server, client, Down, l.answered) })
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

func (w *Wire) add(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.links == nil {
		w.links = make(map[*link]bool)
	}
	w.links[l] = true
	if w.down {
		l.end()
	}
	for _, f := range w.faults {
		l.endBy(f)
	}
}

// A link is a connection over a wire.
type link struct {
	wire           *Wire
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
	quotas         [2]quota // by direction
	tail           []byte   // the end of the data sent so far, which may begin a marker

	mu    sync.Mutex
	mute  *Cut // the cut that holds the server's answer back
	reset bool // the link ends with a reset
}

func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		l.mu.Lock()
		reset := l.reset
		l.mu.Unlock()
		for _, conn := range []net.Conn{l.client, l.server} {
			if tcp, ok := conn.(*net.TCPConn); ok && reset {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
	})
}

// pause waits and reports true, or false when the link ends first.
func (l *link) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
		return false
	}
}

var errCut = errors.New("faultconn: the connection was cut")

// pump copies until an end is closed, or goes rejects a piece of data.
func (l *link) pump(from, to net.Conn, d Direction, goes func([]byte) bool) {
	defer l.end()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && (!goes(buffer[:n]) || l.write(to, buffer[:n], d) != nil) || err != nil {
			return
		}
	}
}
