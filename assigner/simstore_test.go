package assigner

import (
	"context"
	"errors"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// errStore is the error for a holder when the store, or the network to it, has failed.
var errStore = errors.New("simulated store: no answer")

// A simStore is the store of a simulated world. It is used by one coroutine at a time.
type simStore struct {
	w        *simWorld
	identity string
	meta     leasestore.Meta
	rows     []leasestore.Row                    // by worker ID; Version 0: none
	past     [][]leasestore.Row                  // earlier states of each row, oldest first
	commits  []commit                            // to take back, oldest first
	late     []func()                            // swaps that were answered with an error and are still under way
	creating map[int64]int                       // how many of late create a row
	matches  predicate                           // of Swap
	write    func(leasestore.Row) leasestore.Row // applied to the row that a swap writes
	lagging  bool                                // reads come from a replica
}

type predicate func(found, old leasestore.Row) bool

// A commit keeps the row, or the meta row, that a swap has replaced.
type commit struct {
	worker int64 // -1: the meta row
	row    leasestore.Row
	meta   leasestore.Meta
}

func (s *simStore) now() time.Time { return simAlloc.Time(s.w.time + s.w.storeSkew) }

func (s *simStore) set(next leasestore.Row) {
	s.commits = append(s.commits, commit{worker: next.WorkerID, row: s.rows[next.WorkerID]})
	s.past[next.WorkerID] = append(s.past[next.WorkerID], s.rows[next.WorkerID])
	s.rows[next.WorkerID] = next
}

func (s *simStore) setMeta(next leasestore.Meta) {
	s.commits = append(s.commits, commit{worker: -1, meta: s.meta})
	s.meta = next
}

func (s *simStore) swap(old, next leasestore.Row, ttl time.Duration) bool {
	found := s.rows[next.WorkerID]
	exists := found.Version != 0
	if exists != (old.Version != 0) || exists && !s.matches(found, old) {
		return false
	}
	next.Expires = s.now().Add(ttl)
	s.set(s.write(next))
	return true
}

func (s *simStore) swapMeta(old, next leasestore.Meta) bool {
	if !s.meta.Same(old) {
		return false
	}
	s.setMeta(next)
	return true
}

// rewind takes back the last n commits.
func (s *simStore) rewind(n int) {
	for range min(n, len(s.commits)) {
		last := s.commits[len(s.commits)-1]
		s.commits = s.commits[:len(s.commits)-1]
		if last.worker < 0 {
			s.meta = last.meta
		} else {
			s.rows[last.worker] = last.row
		}
	}
}

// read returns a row as it is, or, from a replica, as it was up to four commits ago.
func (s *simStore) read(worker int64) leasestore.Row {
	past := s.past[worker]
	if back := s.w.rng.IntN(5); s.lagging && back > 0 && back <= len(past) {
		return past[len(past)-back]
	}
	return s.rows[worker]
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
	err = l.call(func() { s = leasestore.Status{Now: l.now(), Identity: l.identity, Lossy: l.w.sim.lossy} })
	return s, err
}

func (l simLink) LoadMeta(context.Context) (m leasestore.Meta, err error) {
	err = l.call(func() {
		m = l.meta
		l.h.counted = m.NextWorkerID
	})
	return m, err
}

func (l simLink) SwapMeta(_ context.Context, old, next leasestore.Meta) (bool, error) {
	return l.change(func() bool { return l.swapMeta(old, next) })
}

func (l simLink) Load(_ context.Context, worker int64) (r leasestore.Row, err error) {
	err = l.call(func() {
		r = l.read(worker)
		l.h.heard = l.w.era
	})
	return r, err
}

func (l simLink) List(context.Context) (rows []leasestore.Row, err error) {
	err = l.call(func() {
		for worker := range l.rows {
			if row := l.read(int64(worker)); row.Version != 0 {
				rows = append(rows, row)
			}
		}
	})
	return rows, err
}

func (l simLink) Expired(ctx context.Context, n int) (rows []leasestore.Row, err error) {
	all, err := l.List(ctx)
	for _, row := range all {
		if len(rows) < n && !row.Expires.After(l.now()) {
			rows = append(rows, row)
		}
	}
	return rows, err
}

func (l simLink) Swap(_ context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
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
		return l.swap(old, next, ttl)
	})
	if err == nil {
		l.h.heard = era
	}
	return ok, err
}

// CreateFree creates rows, as a store does that can in one operation.
func (l simLink) CreateFree(_ context.Context, rows []leasestore.Row, ttl time.Duration) error {
	for _, row := range rows {
		l.creating[row.WorkerID]++
	}
	_, err := l.change(func() bool {
		for _, row := range rows {
			l.creating[row.WorkerID]--
			l.swap(leasestore.Row{}, row, ttl)
		}
		return true
	})
	return err
}

// A simConsole is the operator's way to the store: nothing happens on it.
type simConsole struct{ *simStore }

func (c simConsole) Status(context.Context) (leasestore.Status, error) {
	return leasestore.Status{Now: c.now(), Identity: c.identity}, nil
}

func (c simConsole) LoadMeta(context.Context) (leasestore.Meta, error) { return c.meta, nil }

func (c simConsole) SwapMeta(_ context.Context, old, next leasestore.Meta) (bool, error) {
	return c.swapMeta(old, next), nil
}

func (c simConsole) Load(_ context.Context, worker int64) (leasestore.Row, error) {
	return c.rows[worker], nil
}

func (c simConsole) List(context.Context) (rows []leasestore.Row, err error) {
	for _, row := range c.rows {
		if row.Version != 0 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (c simConsole) Expired(context.Context, int) ([]leasestore.Row, error) { return nil, nil }

func (c simConsole) Swap(_ context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	return c.swap(old, next, ttl), nil
}
