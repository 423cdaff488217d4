package assignertest_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// remoteFixture opens a memory behind a server, with a client that has a fault. Package daemon of
// the command runs RunFaults against processes.
func remoteFixture(t *testing.T, fault string) assignertest.StoreFixture {
	backend := new(server)
	handler := remoteassigner.NewHandler(backend.open)
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.Close() })
	addr := s.Listener.Addr().String()
	open := func(addr, namespace string) leasestore.Store {
		return client{remoteassigner.LeaseStore([]string{"http://" + addr}, namespace, remoteassigner.Config{}), fault}
	}
	return assignertest.StoreFixture{
		Handle:  func() leasestore.Store { return open(addr, "mine") },
		Other:   func(name string) leasestore.Store { return open(addr, name) },
		Down:    func(*testing.T) (up func()) { return backend.Down() }, // the server answers
		Through: func(w *assignertest.Wire) leasestore.Store { return open(w.Proxy(t, addr), "mine") },
		Kill: func(t *testing.T) {
			_ = s.Listener.Close() // or a client reads on a new connection before the call in flight takes effect
			s.CloseClientConnections()
			s.Close()
			if fault == "forgets" {
				mine := backend.open("mine")
				rows, _ := mine.List(t.Context())
				for _, row := range rows {
					less := row
					less.Fence -= 3
					_, _ = mine.Swap(t.Context(), row, less, time.Hour)
				}
			}
			l, err := net.Listen("tcp", addr)
			testkit.Must(t, err)
			s = &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
			s.Start()
		},
		Unreachable: remoteassigner.ErrUnreachable,
	}
}

// A client takes a call without an answer in a wrong way.
type client struct {
	leasestore.Store
	fault string
}

func (c client) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	ok, err := c.Store.SwapMeta(ctx, old, next)
	if err != nil && c.fault == "retries blindly" {
		return c.Store.SwapMeta(ctx, old, next)
	}
	return ok, err
}

func (c client) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	ok, err := c.Store.Swap(ctx, old, next, ttl)
	switch {
	case err == nil:
	case c.fault == "claims success":
		return true, nil
	case c.fault == "retries blindly":
		return c.Store.Swap(ctx, old, next, ttl)
	case c.fault == "retries by force":
		old, _ = c.Load(ctx, next.WorkerID)
		return c.Store.Swap(ctx, old, next, ttl)
	}
	return ok, err
}

func (c client) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	row, err := c.Store.Load(ctx, workerID)
	if c.fault == "swallows errors" {
		err = nil
	}
	return row, err
}
