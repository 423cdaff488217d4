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

// List notes the deltas that Horizon takes for past.
func (l simLink) List(ctx context.Context) (rows []leasestore.Row, err error) {
	err = l.call(func() {
		rows, _ = l.memStore.List(ctx)
		l.w.past = max(l.w.past, simAlloc.Delta(l.h.asked.Add(-time.Minute)))
	})
	return rows, err
}

// belowHorizon reports a delta that Horizon has excluded, unless all deltas of a holder that has
// lost its row, or cannot renew its lease, are in the past.
func (w *simWorld) belowHorizon(h *simHolder, _, delta int64) {
	if delta < w.horizon && h.grant.Last >= w.past {
		w.duplicates++
		w.log("DUPLICATE: delta %d is below the horizon", delta)
	}
}

func sameStore(s leasestore.Store) leasestore.Store { return s }

func TestSimulationHorizonHolds(t *testing.T) {
	noDuplicates(t, 500, simulation{fenced: 30, moves: 25, poller: sameStore})
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
