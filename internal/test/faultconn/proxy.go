package faultconn

import (
	"net"
	"sync"
	"testing"
)

// A Proxy is a [Wire] for clients without a dial hook: it listens, and carries each connection to a
// server.
type Proxy struct {
	*Wire
	listener net.Listener
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
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.carry(client, target) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.Down()
		wg.Wait()
	})
	return &Proxy{w, listener}
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (w *Wire) carry(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	w.serve(client, server)
}
