package assignertest_test

import (
	"context"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
)

// remoteFixture opens a memory behind a server, with a client that has a fault.
func remoteFixture(t *testing.T, fault string) assignertest.StoreFixture {
	backend := memory{newServer(""), "mine"}
	handler := remoteassigner.NewHandler(func(string) leasestore.Store { return backend })
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.Close() })
	open := func(addr string) leasestore.Store {
		return client{remoteassigner.LeaseStore([]string{"http://" + addr}, "mine", remoteassigner.Config{}), fault}
	}
	return assignertest.StoreFixture{
		Handle:  func() leasestore.Store { return open(s.Listener.Addr().String()) },
		Through: func(w *assignertest.Wire) leasestore.Store { return open(w.Proxy(t, s.Listener.Addr().String())) },
		Kill: func(t *testing.T) {
			_ = s.Listener.Close() // or a client reads on a new connection before the call in flight takes effect
			s.CloseClientConnections()
			s.Close()
			if fault == "forgets" {
				_ = backend.with(t.Context(), func(s *space) {
					for id, row := range s.rows {
						row.Fence -= 3
						s.rows[id] = row
					}
				})
			}
			l, err := net.Listen("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			s = httptest.NewUnstartedServer(handler)
			_ = s.Listener.Close()
			s.Listener = l
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
