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

// The simulation sees rows that never expire, and claims that waste windows.
func TestSimulationSeesWhatDoesNotStaySteady(t *testing.T) {
	never := simulation{write: func(w *simWorld, r leasestore.Row) leasestore.Row {
		r.Expires = r.Expires.AddDate(1, 0, 0)
		return r
	}}
	wasteful := simulation{write: func(w *simWorld, r leasestore.Row) leasestore.Row {
		r.Fence += 8 * w.window
		return r
	}}
	for name, seen := range map[string]func(seed uint64) bool{
		"starved holders":        func(seed uint64) bool { return starved(seed, never) > 0 },
		"a fence that runs away": func(seed uint64) bool { lead, bound := runaway(seed, wasteful, false); return lead > bound },
	} {
		from := firstSeed(t)
		seed := from
		for seed < from+bounded && !seen(seed) {
			seed++
		}
		if seed == from+bounded {
			t.Errorf("%s: not seen in %d schedules", name, bounded)
		}
	}
}

// Fences follow the used deltas and the clock. They are ahead of both by two windows at the rate of
// use. The rate is known to a unit or two only, so the test allows three times that.
func TestSimulationHasNoFenceThatRunsAway(t *testing.T) {
	for name, eager := range map[string]bool{"at the pace of the clock": false, "under load": true} {
		t.Run(name, func(t *testing.T) {
			from, to := seeds(t, 300)
			for seed := from; seed < to; seed++ {
				if lead, bound := runaway(seed, simulation{}, eager); lead > bound {
					t.Fatalf("UIDRING_SEED=%d UIDRING_SEEDS=1: a fence lies %d ahead of clocks and use, want %d at most", seed, lead, bound)
				}
			}
		})
	}
}

// runaway runs a world without trouble and returns the farthest that a fence came ahead, and how
// far it may.
func runaway(seed uint64, sim simulation, eager bool) (lead, bound int64) {
	w := newWorld(seed, sim)
	defer w.close()
	w.heal()
	for _, h := range w.holders {
		h.eager = eager
	}
	peak := int64(1) // the most deltas of one holder in one unit
	for range 1000 {
		unit := w.time
		used := make([]int, len(w.holders))
		for i, h := range w.holders {
			used[i] = h.used
		}
		for w.time == unit {
			w.run(1)
			for _, h := range w.holders {
				w.highest = max(w.highest, h.clock())
			}
			for _, row := range w.store.rows {
				if row.Version != 0 {
					lead = max(lead, row.Fence-w.highest)
				}
			}
		}
		for i, h := range w.holders {
			if eager {
				peak = max(peak, int64(h.used-used[i]))
			}
		}
	}
	return lead, 6 * peak * w.window
}
