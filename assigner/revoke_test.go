package assigner

import (
	"context"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

func TestRevokeTakesARowFromItsHolder(t *testing.T) {
	s := newMemStore()
	s.put(held(2, 700, "a", memStart+45))
	got, err := leasestore.Revoke(t.Context(), s, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := (leasestore.Row{WorkerID: 2, Version: 2, Fence: 700, Token: got.Token, Owner: "a", Expires: memTime(memStart + 45)}); got != want || s.rows[2] != want {
		t.Errorf("Revoke = %+v, row %+v, want %+v", got, s.rows[2], want)
	}
	if !got.Revoked() || held(2, 700, "a", 1).Revoked() {
		t.Errorf("Revoked = %v of %+v", got.Revoked(), got)
	}
	s.put(held(3, 700, "a", memStart-1))
	if late, err := leasestore.Revoke(t.Context(), s, 3); err != nil || late != s.rows[3] || !late.Expires.Equal(memTime(memStart)) {
		t.Errorf("Revoke of an expired row = %+v, %v, want it offered at once, as in the store: %+v", late, err, s.rows[3])
	}
	for name, row := range map[string]leasestore.Row{
		"revoked":   got,
		"recovered": {Version: 2, Token: recoveringPrefix, Owner: "a"},
		"free":      {Version: 5, Fence: 3, Owner: "a"},
	} {
		s.put(row)
		if again, err := leasestore.Revoke(t.Context(), s, row.WorkerID); err != nil || again != row {
			t.Errorf("Revoke of a row that is %s = %+v, %v, want it as it was", name, again, err)
		}
	}
}

// A revoked holder keeps its grant, and other processes wait until its lease would have expired.
func TestRevokeKeepsTheRowUntilTheLeaseExpires(t *testing.T) {
	s := newMemStore()
	first := take(t, leased(s))
	before := first.Grant()
	revoked, err := leasestore.Revoke(t.Context(), s, before.WorkerID)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, fenced(s, before.WorkerID, "b"), ErrWorkerInUse, "row 0")
	if other := take(t, leased(s)); other.Grant().WorkerID == before.WorkerID {
		t.Error("the row was offered before the lease would have expired")
	}
	wantError(t, first.Renew(t.Context(), before.First, before.Limit+1), ErrWorkerRowLost, "row 0 has been revoked")
	if first.Grant() != before || s.rows[before.WorkerID] != revoked {
		t.Errorf("grant %+v after the loss, was %+v; row %+v, was %+v", first.Grant(), before, s.rows[before.WorkerID], revoked)
	}
}

func TestRevokeAgainstOthers(t *testing.T) {
	before := held(0, 700, "a", memStart+60)
	for name, row := range map[string]struct {
		meanwhile leasestore.Row
		want      leasestore.Row
		fault     string
	}{
		"a holder that renews":     {held(0, 800, "a", memStart+99), leasestore.Row{Version: 2, Fence: 800, Owner: "a", Expires: memTime(memStart + 99)}, ""},
		"a holder that releases":   {leasestore.Row{Version: 1, Fence: 700, Owner: "a"}, leasestore.Row{Version: 1, Fence: 700, Owner: "a"}, ""},
		"another one that claims":  {leasestore.Row{Version: 2, Fence: 900, Token: "Tb", Owner: "b"}, leasestore.Row{}, `has a new holder, "b"`},
		"a recovery":               {leasestore.Row{Version: 2, Fence: 900, Owner: "a"}, leasestore.Row{}, "has a new holder"},
		"a row that has vanished":  {leasestore.Row{}, leasestore.Row{}, "never delete rows"},
		"a store that swaps never": {before, leasestore.Row{}, "the store refuses a swap"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.put(before)
			s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
				if row.meanwhile == before {
					return false, nil
				}
				s.onSwap = nil
				s.rows[0] = row.meanwhile
				return do(), nil
			}
			got, err := leasestore.Revoke(t.Context(), s, 0)
			if row.fault != "" {
				wantError(t, err, nil, row.fault)
			} else if row.want.Token = got.Token; err != nil || got != row.want {
				t.Errorf("Revoke = %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}

func TestRevokeReturnsErrors(t *testing.T) {
	s := newMemStore()
	s.put(held(0, 700, "a", memStart+60))
	s.lose(1)
	if got, err := leasestore.Revoke(t.Context(), s, 0); err != nil || got != s.rows[0] || got.Version != 2 {
		t.Errorf("Revoke = %+v, %v; row %+v", got, err, s.rows[0])
	}
	s.put(held(1, 700, "b", memStart+60))
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) { return true, errLostAnswer } // an error leaves it open
	_, err := leasestore.Revoke(t.Context(), s, 1)
	wantError(t, err, errLostAnswer, "row 1")
	s.onLoad = func() error { return errStore }
	_, err = leasestore.Revoke(t.Context(), s, 1)
	wantError(t, err, errStore, "row 1")
	s.onLoad, s.onSwap = nil, nil
	if _, err := leasestore.Revoke(t.Context(), s, 3); err == nil || s.rows[3] != (leasestore.Row{}) {
		t.Errorf("Revoke of a row that was never there: %v; row %+v", err, s.rows[3])
	}
}

// revokeRow revokes a random row.
func revokeRow(w *simWorld) {
	worker := w.rng.Int64N(w.workers)
	if w.store.rows[worker].Version == 0 {
		return
	}
	row, err := leasestore.Revoke(context.Background(), w.store.current(), worker)
	if err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
	w.log("row %d revoked: %+v", worker, row)
}

func TestSimulationHasNoDuplicatesWhenRowsAreRevoked(t *testing.T) {
	for name, sim := range map[string]simulation{
		"from live holders": {accident: revokeRow, often: true, fenced: 30, moves: 25},
		"on a lossy store that loses commits": {lossy: true, all: true, fenced: 30, often: true, accident: func(w *simWorld) {
			switch n := w.rng.IntN(100); {
			case n < 10:
				revokeRow(w)
			case n < 12:
				loseCommits(w)
			}
		}},
		"before failovers that lose commits": {moves: 100, calm: true, all: true, fenced: 30, often: true, accident: func(w *simWorld) {
			switch n := w.rng.IntN(100); {
			case n < 10:
				revokeRow(w)
			case n < 12 && loseRows(w):
				w.failover()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) { noDuplicates(t, 300, sim) })
	}
}
