package assigner

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A simStore is the store of a simulated world. It is used by one coroutine at a time.
type simStore struct {
	*memStore
	w        *simWorld
	late     []func()      // swaps that were answered with an error and are still under way
	creating map[int64]int // how many of late create a row
}

// current moves the clock of the store to the time of the world.
func (s *simStore) current() *memStore {
	s.status.Now = simAlloc.Time(s.w.time + s.w.storeSkew)
	return s.memStore
}

// A simLink is a holder's network connection to the store. Each call travels there and back, and
// may fail or be delayed on either way.
type simLink struct {
	*simStore
	h *simHolder
}

// call runs op on the store, which may fail before it.
func (l simLink) call(op func()) error {
	if !l.h.travel() {
		return errStore
	}
	failed := l.w.down() || l.w.time < l.h.cutOff || l.w.chance(l.w.faults)
	if !failed {
		l.current()
		op()
	}
	if !l.h.travel() || failed {
		return errStore
	}
	return nil
}

// change runs a swap on the store: it may be lost, take effect late, or take effect while the
// answer is lost.
func (l simLink) change(swap func() bool) (ok bool, err error) {
	if !l.h.travel() {
		return false, errStore
	}
	fate := l.w.fate()
	if l.w.time < l.h.cutOff {
		fate = lost
	}
	switch fate {
	case applied, unanswered:
		ok = swap()
	case late:
		l.simStore.late = append(l.simStore.late, func() { swap() })
	}
	if !l.h.travel() || fate != applied {
		return false, errStore
	}
	return ok, nil
}

func (l simLink) Status(context.Context) (s leasestore.Status, err error) {
	err = l.call(func() {
		s = l.status
		l.h.asked = s.Now
		l.w.past = max(l.w.past, simAlloc.Delta(s.Now.Add(-time.Minute))) // claims and renewals drop Former by it
	})
	return s, err
}

func (l simLink) LoadMeta(context.Context) (m leasestore.Meta, err error) {
	err = l.call(func() {
		m = l.meta
		l.h.counted = m.NextWorkerID
	})
	return m, err
}

func (l simLink) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	return l.change(func() bool {
		ok, _ := l.memStore.SwapMeta(ctx, old, next)
		return ok
	})
}

func (l simLink) Load(_ context.Context, worker int64) (r leasestore.Row, err error) {
	err = l.call(func() {
		r = l.rows[worker]
		l.h.heard = l.w.era
	})
	return r, err
}

func (l simLink) Expired(ctx context.Context, n int) (rows []leasestore.Row, err error) {
	err = l.call(func() {
		rows, _ = l.memStore.Expired(ctx, n)
	})
	return rows, err
}

func (l simLink) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	var era int
	pending := old.Version == 0
	if pending {
		l.creating[next.WorkerID]++
	}
	ok, err := l.change(func() bool {
		era = l.w.era
		if pending {
			l.creating[next.WorkerID]--
		}
		pending = false
		ok, _ := l.current().Swap(ctx, old, next, ttl)
		return ok
	})
	if err == nil {
		l.h.heard = era
	}
	return ok, err
}

// CreateFree creates rows, as a store does that can in one operation.
func (l simLink) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	for _, row := range rows {
		l.creating[row.WorkerID]++
	}
	return l.change(func() bool {
		for _, row := range rows {
			l.creating[row.WorkerID]--
			_, _ = l.current().Swap(ctx, leasestore.Row{}, row, ttl)
		}
		return true
	})
}
