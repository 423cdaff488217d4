package assignertest

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// lossyCases are the cases for lossy stores only.
func lossyCases() []storeCase {
	return []storeCase{
		{"LossyStoreQuarantinesEveryLease", everyLeaseQuarantined},
		{"LossyGrantFollowsTheStoresClock", grantFollowsClock},
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

// quarantined checks that an assigner has taken a worker ID and holds it in quarantine.
func quarantined(t *testing.T, a assigner.Assigner, cfg assigner.LeaseConfig, d assigner.Domain) *assigner.QuarantineError {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	l, err := a.Assign(ctx, d)
	q, ok := errors.AsType[*assigner.QuarantineError](err)
	if l != nil || !ok || !errors.Is(err, assigner.ErrQuarantined) {
		t.Fatalf("Assign: %v, %v; want ErrQuarantined", l, err)
	}
	if most := 4*cfg.Window + cfg.MaxSkew + d.Layout.Unit; q.Remaining <= 0 || q.Remaining > most {
		t.Errorf("quarantine of %v, want up to %v", q.Remaining, most)
	}
	return q
}
