package assignertest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
)

// A memory is a handle on a namespace of a server in memory.
type memory struct {
	*server
	name string
}

// A server has at most one fault.
type server struct {
	fault string

	mu     sync.Mutex
	down   bool
	looks  int
	spaces map[string]*space
}

type space struct {
	meta  leasestore.Meta
	rows  map[int64]leasestore.Row
	swaps int
}

var errDown = errors.New("the memory is down")

func newServer(fault string) *server { return &server{fault: fault, spaces: make(map[string]*space)} }

// storeFixture opens an empty server.
func storeFixture(fault string) assignertest.StoreFixture {
	s, handles := newServer(fault), 0
	mine := memory{s, "mine"}
	return assignertest.StoreFixture{
		Handle: func() leasestore.Store {
			if handles++; fault == "not shared" {
				return memory{s, fmt.Sprint("mine-", handles)}
			}
			return mine
		},
		Other: func(name string) leasestore.Store {
			if fault == "one namespace" {
				return mine
			}
			return memory{s, name}
		},
		Down: func(*testing.T) (up func()) {
			s.setDown(fault != "never down")
			return func() { s.setDown(false) }
		},
	}
}

func (s *server) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// others lets other callers in.
func (s *server) others() {
	s.mu.Unlock()
	<-time.After(5 * time.Millisecond) // on a busy machine a goroutine runs late
	s.mu.Lock()
}

// with calls f on the namespace, with the server locked.
func (m memory) with(ctx context.Context, f func(*space)) error {
	if err := ctx.Err(); err != nil && m.fault != "ignores context" {
		return err
	}
	if err := leasestore.CheckNamespace(m.name); err != nil && m.fault != "checks no names" {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return errDown
	}
	if m.spaces[m.name] == nil {
		m.spaces[m.name] = &space{rows: make(map[int64]leasestore.Row)}
	}
	f(m.spaces[m.name])
	return nil
}

func (m memory) Status(ctx context.Context) (st leasestore.Status, err error) {
	err = m.with(ctx, func(*space) {
		m.looks++
		st = leasestore.Status{Now: time.Now(), Identity: "memory", Lossy: m.fault == "none, but lossy", Store: "memory", Namespace: m.name}
		switch {
		case m.fault == "clock off":
			st.Now = st.Now.Add(-time.Hour)
		case m.fault == "seen once" && m.looks == 1:
			st.Seen = st.Now
		}
	})
	return st, err
}

func (m memory) LoadMeta(ctx context.Context) (meta leasestore.Meta, err error) {
	err = m.with(ctx, func(s *space) { meta = s.meta })
	return meta, err
}

func (m memory) SwapMeta(ctx context.Context, old, next leasestore.Meta) (ok bool, err error) {
	errDo := m.with(ctx, func(s *space) {
		if !m.equal(s.meta.Version, old.Version) || s.meta.Token != old.Token {
			return
		}
		for name, other := range m.spaces {
			if other.meta.Version > 0 && m.fault != "checks no names" {
				err = errors.Join(err, leasestore.CheckNamespaceTwin(m.name, name))
			}
		}
		if ok = err == nil; !ok {
			return
		}
		if m.fault == "loses fields" {
			next.Extra = ""
		}
		s.meta = next
	})
	return ok, errors.Join(err, errDo)
}

func (m memory) Load(ctx context.Context, workerID int64) (row leasestore.Row, err error) {
	err = m.with(ctx, func(s *space) { row = s.rows[workerID] })
	return row, err
}

func (m memory) List(ctx context.Context) (rows []leasestore.Row, err error) {
	err = m.with(ctx, func(s *space) { rows = slices.Collect(maps.Values(s.rows)) })
	return rows, err
}

func (m memory) Expired(ctx context.Context, n int) (rows []leasestore.Row, err error) {
	err = m.with(ctx, func(s *space) { rows = slices.Collect(maps.Values(s.rows)) })
	rows = slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(time.Now()) })
	return rows[:min(n, len(rows))], err
}

func (m memory) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (ok bool, err error) {
	err = m.with(ctx, func(s *space) {
		found, exists := s.rows[next.WorkerID]
		ok = exists == (old.Version != 0) && (!exists || m.equal(found.Version, old.Version) && m.equal(found.Fence, old.Fence) && found.Token == old.Token)
		switch swaps := s.swaps; m.fault {
		case "swap creates":
			ok = ok || !exists
		case "checks, then acts":
			m.others()
		case "refuses conflicts":
			m.others()
			ok = ok && swaps == s.swaps
		}
		if ok {
			m.write(s, next, ttl)
		}
	})
	return ok, err
}

func (m memory) write(s *space, next leasestore.Row, ttl time.Duration) {
	next.Expires = time.Now().Add(ttl)
	switch m.fault {
	case "wrong expiry":
		next.Expires = time.Now().Add(24 * time.Hour)
	case "loses fields":
		next.Extra = ""
	}
	s.swaps++
	s.rows[next.WorkerID] = next
}

// equal compares numbers, or their approximations.
func (m memory) equal(a, b int64) bool {
	return a == b || m.fault == "compares floats" && float64(a) == float64(b)
}

func (m memory) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	err := m.with(ctx, func(s *space) {
		for _, row := range rows {
			if _, ok := s.rows[row.WorkerID]; !ok {
				m.write(s, row, ttl)
			}
		}
	})
	return err == nil, err
}

func (m memory) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	found := make(map[string]leasestore.Meta)
	err := m.with(ctx, func(*space) {
		for name, s := range m.spaces {
			if s.meta.Version > 0 {
				found[name] = s.meta
			}
		}
	})
	return found, err
}
