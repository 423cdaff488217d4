package assigner

import (
	"context"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

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
