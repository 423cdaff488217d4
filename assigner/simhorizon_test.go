package assigner

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// newPoller adds a process that calls Horizon again and again.
func (w *simWorld) newPoller() {
	h := &simHolder{w: w, id: -1}
	store := w.sim.poller(simLink{w.store, h})
	h.step, h.stop = iter.Pull(func(yield func(struct{}) bool) {
		h.yield = yield
		for h.travel() {
			id, err := leasestore.Horizon(context.Background(), store)
			if err != nil || h.dead {
				continue
			}
			alloc, _ := bitsalloc.New(w.store.meta.Layout, w.store.meta.Epoch)
			fields, _ := alloc.Parse(id)
			w.horizon = max(w.horizon, fields.Delta)
			w.log("horizon %d", fields.Delta)
		}
	})
	w.poller = h
}

// List notes the leases that Horizon does not count: it says nothing about their IDs.
func (l simLink) List(ctx context.Context) (rows []leasestore.Row, err error) {
	err = l.call(func() {
		rows, _ = l.memStore.List(ctx)
		for _, row := range rows {
			past := simAlloc.Delta(l.h.asked.Add(-time.Minute))
			if l.w.past = max(l.w.past, past); !row.Expires.After(l.h.asked) && row.Fence < past {
				l.w.passed[row.Token] = true
			}
		}
	})
	return rows, err
}

// belowHorizon reports a delta that Horizon has excluded, unless its lease had expired with all its
// deltas in the past. A holder that has lost its row goes on up to its limit.
func (w *simWorld) belowHorizon(h *simHolder, worker, delta int64) {
	excused := h.grant.Limit < w.past
	if l, ok := h.lease.(*lease); ok && l.row.Token == w.store.rows[worker].Token {
		excused = w.passed[l.row.Token]
	}
	if delta < w.horizon && !excused {
		w.duplicates++
		w.log("DUPLICATE: delta %d of worker %d is below the horizon", delta, worker)
	}
}

func sameStore(s leasestore.Store) leasestore.Store { return s }

func TestSimulationHorizonHolds(t *testing.T) {
	noDuplicates(t, 500, simulation{fenced: 30, moves: 25, poller: sameStore})
}

// Each mutant breaks one rule of the horizon.
func TestSimulationCatchesAHorizonWith(t *testing.T) {
	blind := func(s leasestore.Store) leasestore.Store { return blindStore{s} }
	hasty := func(s leasestore.Store) leasestore.Store { return &hastyStore{Store: s} }
	for name, sim := range map[string]simulation{
		"claims that do not see it":           {link: blind, poller: sameStore},
		"rows that are read before it is set": {poller: hasty},
		"rows with the newest delta in use":   {poller: sameStore, write: func(_ *simWorld, r leasestore.Row) leasestore.Row { r.Oldest += 3; return r }},
	} {
		t.Run(name, func(t *testing.T) { caught(t, func(seed uint64) bool { return simulate(seed, sim).duplicates > 0 }) })
	}
}

// A blindStore hides the horizon from claims.
type blindStore struct{ leasestore.Store }

func (s blindStore) LoadMeta(ctx context.Context) (leasestore.Meta, error) {
	m, err := s.Store.LoadMeta(ctx)
	m.Horizon = 0
	return m, err
}

// A hastyStore reads the rows first.
type hastyStore struct {
	leasestore.Store
	rows []leasestore.Row
}

func (s *hastyStore) Status(ctx context.Context) (status leasestore.Status, err error) {
	if status, err = s.Store.Status(ctx); err == nil {
		s.rows, err = s.Store.List(ctx)
	}
	return status, err
}

func (s *hastyStore) List(context.Context) ([]leasestore.Row, error) { return s.rows, nil }
