package assigner

import (
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

// heal ends all trouble: the store answers, clocks are right to a few seconds, all holders run.
// Messages under way have arrived or are lost.
func (w *simWorld) heal() {
	w.healing, w.faults, w.downUntil, w.storeSkew = true, 0, 0, 0
	for _, swap := range w.store.late {
		if w.chance(50) {
			swap()
		}
	}
	w.store.late = nil
	for _, h := range w.holders {
		h.offset, h.drift, h.paused, h.cutOff, h.eager = w.rng.Int64N(101)-50, 0, 0, 0, true
	}
}

// usable counts the worker IDs that have a row or were never given out.
func (w *simWorld) usable() (n int) {
	for worker := range w.workers {
		if w.store.rows[worker].Version != 0 || worker >= w.store.meta.NextWorkerID {
			n++
		}
	}
	return n
}

// starved runs a world with trouble, heals it, and returns how many holders get no lease although
// there are worker IDs for them.
func starved(seed uint64, sim simulation) int {
	w := newWorld(seed, sim)
	defer w.close()
	w.run(simSteps / 2)
	w.heal()
	for len(w.holders) > w.usable() { // killed, and not started again
		w.holders[0].stop()
		w.holders = slices.Delete(w.holders, 0, 1)
	}
	if len(w.holders) == 0 {
		return 0
	}
	w.run(2000)
	for _, h := range w.holders {
		h.used = 0
	}
	w.run(500)
	n := 0
	for _, h := range w.holders {
		if h.lease == nil || h.used == 0 {
			n++
		}
	}
	return n
}

// After any trouble all holders get a lease and compose IDs, as long as there are enough worker
// IDs.
func TestSimulationStarvesNoHolder(t *testing.T) {
	from, to := seeds(t, 1000)
	for seed := from; seed < to; seed++ {
		if n := starved(seed, simulation{}); n > 0 {
			t.Fatalf("UIDRING_SEED=%d UIDRING_SEEDS=1: %d holders get nothing", seed, n)
		}
	}
}

// The simulation sees rows that never expire.
func TestSimulationSeesStarvedHolders(t *testing.T) {
	never := simulation{write: func(w *simWorld, r leasestore.Row) leasestore.Row {
		r.Expires = r.Expires.AddDate(1, 0, 0)
		return r
	}}
	caught(t, func(seed uint64) bool { return starved(seed, never) > 0 })
}
