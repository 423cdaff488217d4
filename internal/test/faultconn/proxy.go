package faultconn

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// A Proxy is a [Wire] for clients without a dial hook: it listens, and carries each connection to a
// server.
type Proxy struct {
	*Wire
	target string
	addr   string
	wg     sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while the proxy refuses connections
}

// Listen starts a proxy with a wire of its own at addr. Port 0 stands for a free one.
func Listen(addr, target string) (*Proxy, error) { return new(Wire).listen(addr, target) }

// Start starts a proxy with a wire of its own on a free port of this host. It ends with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	return new(Wire).Proxy(t, target)
}

// Proxy starts a proxy on a free port of this host, which carries its connections over the wire. It
// ends with the test.
func (w *Wire) Proxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := w.listen("127.0.0.1:0", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func (w *Wire) listen(addr, target string) (*Proxy, error) {
	p := &Proxy{Wire: w, target: target, addr: addr}
	if err := p.Accept(); err != nil {
		return nil, err
	}
	p.addr = p.listener.Addr().String()
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.addr }

// Close refuses new connections, cuts all others, and waits for their end.
func (p *Proxy) Close() {
	p.Refuse()
	p.wg.Wait()
}

// Refuse cuts all connections and refuses new ones, until Accept is called.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.Down()()
}

// Accept takes connections again.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("faultconn: %w", err)
	}
	p.listener = listener
	p.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(client, listener) })
		}
	})
	return nil
}

// carry serves a connection that came from a listener, unless the proxy has closed it since.
func (p *Proxy) carry(client net.Conn, from net.Listener) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	refused := p.listener != from
	p.mu.Unlock()
	if !refused {
		p.serve(client, server)
	}
}
