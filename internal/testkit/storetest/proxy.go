package storetest

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// A Proxy passes TCP connections on to a server, and cuts one on request.
type Proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	marker []byte // the bytes from a client that trigger the cut; nil: none
	after  bool
	down   bool
	conns  map[net.Conn]bool
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t *testing.T, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: make(map[net.Conn]bool)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.Down()
		wg.Wait()
	})
	return p
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// CutBefore has the next connection cut on which a client sends the marker; the server does not get
// to see it.
func (p *Proxy) CutBefore(marker string) { p.arm(marker, false) }

// CutAfter has the next connection cut on which a client sends the marker, when the server has
// answered; the client does not get to see the answer.
func (p *Proxy) CutAfter(marker string) { p.arm(marker, true) }

// Down cuts all connections, and each new one at once, until up is called.
func (p *Proxy) Down() (up func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.down = false
	}
}

// Armed reports whether a cut is still to come.
func (p *Proxy) Armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.marker != nil
}

func (p *Proxy) arm(marker string, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.after = []byte(marker), after
}

// cuts reports whether to cut the connection at a piece of data from a client, and whether to pass
// the piece on first.
func (p *Proxy) cuts(sent []byte) (cut, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marker == nil || !bytes.Contains(sent, p.marker) {
		return false, false
	}
	p.marker = nil
	return true, p.after
}

// serve passes one connection on, until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	p.mu.Lock()
	if p.down {
		end()
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	mute := make(chan struct{}) // closed when the answer is to be held back
	var wg sync.WaitGroup
	wg.Go(func() {
		defer end()
		pass(server, client, func([]byte) bool {
			select {
			case <-mute:
				return false
			default:
				return true
			}
		})
	})
	wg.Go(func() {
		defer end()
		pass(client, server, func(sent []byte) bool {
			cut, after := p.cuts(sent)
			if after {
				close(mute)
			}
			return !cut || after
		})
	})
	wg.Wait()
}

// pass copies until an end is closed or goes refuses a piece.
func pass(from, to net.Conn, goes func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !goes(buffer[:n]) {
			return
		}
		if _, errWrite := to.Write(buffer[:n]); err != nil || errWrite != nil {
			return
		}
	}
}
