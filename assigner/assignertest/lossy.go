package assignertest

import (
	"testing"

	"github.com/uidring/uidring/assigner"
)

// lossyCases are the cases for lossy stores only.
func lossyCases() []storeCase {
	return []storeCase{
		{name: "LossyStoreQuarantinesEveryLease", run: everyLeaseQuarantined},
		{name: "LossyGrantFollowsTheStoresClock", run: grantFollowsClock},
		{name: "LossyLeaseEndsAWindowAndAHalfAfterItsRenewal", run: endsAfterAWindowAndAHalf},
	}
}

// everyLeaseQuarantined checks new and used worker IDs alike, since a worker ID that the store has
// forgotten looks new.
func everyLeaseQuarantined(t *testing.T, n namespace) {
	kinds, d := []assigner.Assigner{n.fenced(7, "x"), n.leased(), n.auto()}, Domain() // in this order, since Leased and Auto take released rows
	for range 2 {
		begin := d.Now()
		var workers []int64
		for _, a := range kinds {
			workers = append(workers, quarantined(t, a, n.config(), d).WorkerID)
		}
		var held []assigner.Lease
		for i, a := range kinds {
			l := assign(t, a, held...)
			held = append(held, l)
			g := l.Grant()
			if g.WorkerID != workers[i] {
				t.Errorf("worker %d after its quarantine, want %d", g.WorkerID, workers[i])
			}
			// The rest of the quarantine is for the difference of clocks.
			if end := begin + int64(lossyWindow/d.Layout.Unit); g.First <= end || g.Limit < g.First {
				t.Errorf("grant %+v, want deltas above %d: those before may have been used", g, end)
			}
		}
		for _, l := range held {
			release(t, l)
		}
	}
}

// grantFollowsClock checks that grants end near the store's clock, so that forgotten grants lie in
// the past when the next holder starts.
func grantFollowsClock(t *testing.T, n namespace) {
	l, d := assign(t, n.leased()), Domain()
	before := l.Grant()
	if err := l.Renew(t.Context(), before.Limit, before.Limit+1_000_000); err != nil {
		t.Fatalf("Renew: %v", err)
	}
	most := d.Now() + int64((lossyWindow+clockBound)/d.Layout.Unit)
	if after := l.Grant(); after.Limit > most || after.Limit < before.Limit || after.Limit != n.row(t, l).Fence {
		t.Errorf("grant %+v, was %+v; want no delta above %d, and the fence of the row", after, before, most)
	}
}

// endsAfterAWindowAndAHalf checks that a lease ends by then, since a store that has forgotten it
// may have given the row to another holder.
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
