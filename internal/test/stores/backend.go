package stores

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A Dial opens the connections of a client.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// A Backend is a store with the keys of package kvassigner on servers of its own.
type Backend struct {
	Servers []*testserver.Server
	// Dial opens the connections of handles. Nil: directly.
	Dial Dial
	// Ready waits until all servers serve after a restart. Nil: they do when Restart returns.
	Ready func(t testing.TB, servers ...*testserver.Server)
	// Open opens a namespace by a client of one server.
	Open func(t *testing.T, s *testserver.Server, dial Dial, namespace string) leasestore.Store
}

// Namespaces returns a func that opens empty namespaces. Each handle is connected to the next
// server, and Kill kills the servers in turn.
func (b *Backend) Namespaces() func(t *testing.T) assignertest.StoreFixture {
	var names, handles, kills atomic.Int64
	return func(t *testing.T) assignertest.StoreFixture {
		return b.namespace(t, fmt.Sprint("namespace.", names.Add(1)), &handles, &kills)
	}
}

func (b *Backend) namespace(t *testing.T, name string, handles, kills *atomic.Int64) assignertest.StoreFixture {
	dial := b.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	open := func(name string, dial Dial) leasestore.Store {
		return b.Open(t, b.Servers[int(handles.Add(1))%len(b.Servers)], dial, name)
	}
	restart := func(t *testing.T, servers ...*testserver.Server) {
		for _, s := range servers {
			s.Restart()
		}
		if b.Ready != nil {
			b.Ready(t, b.Servers...)
		}
	}
	return assignertest.StoreFixture{
		Handle:  func() leasestore.Store { return open(name, dial) },
		Other:   func(name string) leasestore.Store { return open(name, dial) },
		Through: func(w *assignertest.Wire) leasestore.Store { return open(name, w.Dial) },
		Down: func(t *testing.T) (up func()) {
			for _, s := range b.Servers {
				s.Kill9()
			}
			return func() { restart(t, b.Servers...) }
		},
		Kill: func(t *testing.T) {
			s := b.Servers[int(kills.Add(1))%len(b.Servers)]
			s.Kill9()
			restart(t, s)
		},
	}
}
