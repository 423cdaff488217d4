// Package faultconn interrupts the connections between a client and a server in tests: before or
// after a given piece of data, for some time, or by making them slow. It also counts their data.
package faultconn

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A Wire carries connections. The zero Wire passes everything on. All methods may be called at
// once.
type Wire struct {
	mu     sync.Mutex
	cut    *Cut
	down   bool
	faults [2]*injected // by direction; nil: none
	links  map[*link]bool

	trips, bytes int // see Traffic
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

// A Cut is one interruption of a [Wire]. A later cut of the wire replaces it.
type Cut struct {
	marker []byte
	after  bool
	then   func()
	link   *link // whose answer is held back; guarded by Wire.mu

	done atomic.Bool
}

// CutBefore cuts the next connection on which a client sends the marker. The server does not
// receive the data with the marker.
func (w *Wire) CutBefore(marker string) *Cut { return w.arm(&Cut{marker: []byte(marker)}) }

// CutAfter cuts the next connection on which a client sends the marker, as soon as the server
// answers. The client does not receive the answer. If then is not nil, CutAfter calls it between
// the answer and the cut.
func (w *Wire) CutAfter(marker string, then func()) *Cut {
	return w.arm(&Cut{marker: []byte(marker), after: true, then: then})
}

func (w *Wire) arm(c *Cut) *Cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = c
	return c
}

// Done reports whether the cut has been made.
func (c *Cut) Done() bool { return c.done.Load() }

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

// Traffic returns the numbers of round trips and bytes so far. A round trip begins when a client
// sends after the server has.
func (w *Wire) Traffic() (trips, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips, w.bytes
}

// A link is a connection over a wire.
type link struct {
	wire           *Wire
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
	tail           []byte // the end of the data sent so far, which may begin a marker
	asking         bool   // the client was the last to send; guarded by Wire.mu
}

// serve carries one connection until either side ends it.
func (w *Wire) serve(client, server net.Conn) {
	l := &link{wire: w, client: client, server: server, ended: make(chan struct{})}
	w.mu.Lock()
	if w.links == nil {
		w.links = make(map[*link]bool)
	}
	w.links[l] = true
	if w.down {
		l.end()
	}
	w.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { l.pump(client, server, Up, l.sent) })
	wg.Go(func() { l.pump(server, client, Down, l.answered) })
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

// pump copies until an end is closed, or goes rejects a piece of data.
func (l *link) pump(from, to net.Conn, d Direction, goes func([]byte) bool) {
	defer l.end()
	f := flow{link: l, direction: d, to: to}
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && (!goes(buffer[:n]) || !f.write(buffer[:n])) || err != nil {
			return
		}
	}
}

// sent counts data from the client, looks for the marker in it, and reports whether to pass it on.
func (l *link) sent(data []byte) bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	l.wire.bytes += len(data)
	if !l.asking {
		l.wire.trips++
	}
	l.asking = true
	c := l.wire.cut
	if c == nil {
		return true
	}
	// A marker may come in two pieces.
	seen := append(l.tail, data...)
	if !bytes.Contains(seen, c.marker) {
		l.tail = bytes.Clone(seen[max(0, len(seen)-len(c.marker)+1):])
		return true
	}
	l.tail = nil
	if c.done.Swap(true) {
		return true
	}
	if c.after {
		c.link = l
	}
	return c.after
}

// answered counts data of the server, and reports whether to pass it on.
func (l *link) answered(data []byte) bool {
	l.wire.mu.Lock()
	l.wire.bytes += len(data)
	l.asking = false
	c := l.wire.cut
	held := c != nil && c.link == l
	l.wire.mu.Unlock()
	if held && c.then != nil {
		c.then()
	}
	return !held
}

func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		_, _ = l.client.Close(), l.server.Close()
	})
}

// A Proxy is a [Wire] for clients without a dial hook: it listens, and carries each connection to a
// server.
type Proxy struct {
	*Wire
	listener net.Listener
	target   atomic.Pointer[string]
}

// Start starts a proxy with a wire of its own on a free port of this host. It ends with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	return new(Wire).Proxy(t, target)
}

// Proxy starts a proxy on a free port of this host, which carries its connections over the wire. It
// ends with the test.
func (w *Wire) Proxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	p := &Proxy{Wire: w, listener: listener}
	p.target.Store(&target)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.carry(client, *p.target.Load()) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.Down()
		wg.Wait()
	})
	return p
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lead cuts all connections. The next ones lead to another server.
func (p *Proxy) Lead(target string) {
	p.target.Store(&target)
	p.Down()()
}

func (w *Wire) carry(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	w.serve(client, server)
}

// A Direction of data on a wire.
type Direction int

// Up leads to the server, Down to the client.
const (
	Up Direction = iota
	Down
)

// A Fault affects the data of one direction. The zero Fault has no effect.
type Fault struct {
	// Delay is the time that data waits.
	Delay time.Duration
	// Most is the number of bytes after which a connection is cut. 0: no limit.
	Most int
	// Mute holds all data back until the fault is healed or the connection ends.
	Mute bool
}

// An injected fault is healed when the channel is closed.
type injected struct {
	Fault
	healed chan struct{}
}

// Inject lets data of one direction suffer a fault until heal is called, once. It replaces the
// fault that the direction has.
func (w *Wire) Inject(d Direction, f Fault) (heal func()) {
	present := &injected{f, make(chan struct{})}
	w.suffer(d, present)
	return func() {
		w.suffer(d, nil)
		close(present.healed)
	}
}

func (w *Wire) suffer(d Direction, f *injected) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[d] = f
}

// A flow is the data of a link in one direction.
type flow struct {
	*link
	direction Direction
	to        net.Conn
	fault     *injected // the last one
	used      int       // number of bytes passed under it
}

// present returns the fault of the direction now.
func (f *flow) present() *injected {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	if fault := f.wire.faults[f.direction]; fault != f.fault {
		f.fault, f.used = fault, 0
	}
	if f.fault == nil {
		return new(injected)
	}
	return f.fault
}

// write passes data on as the fault of its direction allows. It reports whether all has passed.
func (f *flow) write(data []byte) bool {
	fault := f.present()
	for ; fault.Mute; fault = f.present() {
		select {
		case <-f.ended:
			return false
		case <-fault.healed:
		}
	}
	select {
	case <-time.After(fault.Delay):
	case <-f.ended:
		return false
	}
	if fault.Most > 0 && f.used+len(data) >= fault.Most {
		_, _ = f.to.Write(data[:fault.Most-f.used])
		return false
	}
	f.used += len(data)
	_, err := f.to.Write(data)
	return err == nil
}
