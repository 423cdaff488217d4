package assignertest

import (
	"testing"

	"github.com/uidring/uidring/assigner"
)

// lossyCases are those of stores that call themselves lossy, and of them only.
func lossyCases() []leaseCase {
	return []leaseCase{
		{name: "LossyStoreQuarantinesEveryLease", run: everyLeaseQuarantined},
		{name: "LossyGrantFollowsTheStoresClock", run: grantFollowsClock},
		{name: "LossyLeaseEndsAWindowAndAHalfAfterItsRenewal", run: endsAfterAWindowAndAHalf},
	}
}

// everyLeaseQuarantined: new and used numbers alike, since a store that has forgotten a number
// takes it for a new one.
func everyLeaseQuarantined(t *testing.T, n namespace) {
	kinds, d := []assigner.Assigner{n.fenced(7, "x"), n.leased(), n.auto()}, Domain() // in this order: a released row is anybody's
	for range 2 {
		begin := d.Now()
		var workers []int64
		for _, a := range kinds {
			workers = append(workers, quarantined(t, a, n.config()).WorkerID)
		}
		var held []assigner.Lease
		for i, a := range kinds {
			l := assign(t, a, held...)
			held = append(held, l)
			g := l.Grant()
			if g.WorkerID != workers[i] {
				t.Errorf("worker %d after its quarantine, want %d", g.WorkerID, workers[i])
			}
			// The clocks may differ by the bound, which is the rest of the quarantine.
			if end := begin + int64(lossyWindow/d.Layout.Unit); g.First <= end || g.Limit < g.First {
				t.Errorf("grant %+v, want deltas above %d: those before may have been used", g, end)
			}
		}
		for _, l := range held {
			release(t, l)
		}
	}
}

// grantFollowsClock: what a store forgets must lie in the past when the next holder begins.
func grantFollowsClock(t *testing.T, n namespace) {
	l, d := assign(t, n.leased()), Domain()
	d.Prepared = 1_000_000
	eager, err := tryAssign(t, n.leased(), d, l)
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	for _, l := range []assigner.Lease{l, eager} {
		before := l.Grant()
		if err := l.Renew(t.Context(), before.Limit, before.Limit+1_000_000); err != nil {
			t.Fatalf("Renew: %v", err)
		}
		most := d.Now() + int64((lossyWindow+clockBound)/d.Layout.Unit)
		if after := l.Grant(); after.Limit > most || after.Limit < before.Limit || after.Limit != n.row(t, l).Fence {
			t.Errorf("grant %+v, was %+v; want no delta above %d, and the fence of the row", after, before, most)
		}
	}
}

// endsAfterAWindowAndAHalf: by then a store that has forgotten the lease may have given the row to
// another.
func endsAfterAWindowAndAHalf(t *testing.T, n namespace) {
	renewed := assign(t, n.leased())
	l := assign(t, n.leased(), renewed)
	ctx, cancel := bounded(t)
	defer cancel()
	for range 7 {
		pause(ctx, lossyWindow/4)
		if err := renew(t, renewed); err != nil {
			t.Fatalf("Renew within the window: %v", err)
		}
	}
	wantLost(t, l)
}
