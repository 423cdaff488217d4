package gentest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// closeUnderLoad has callers that race with Close, in many units a millisecond if the package
// allows it. They get good IDs or ErrClosed, no ID after Close has returned, and none above the
// delta of the release.
func (s *suite) closeUnderLoad(t *testing.T) {
	layout := bitsalloc.Layout{DeltaBits: 50, WorkerBits: 10, SequenceBits: 3, Unit: time.Millisecond}
	for range testkit.Scaled(100) {
		store, used := Released()
		g := s.open(t, keeper.Settings{Assigner: store, Layout: layout})
		var taken idset.Ledger
		var closed atomic.Bool
		lasts := make([]int64, 9)
		testkit.Together(len(lasts), func(i int) {
			if i == 0 {
				testkit.Pause(t.Context(), rand.N(2*time.Millisecond)) // among the takes of a few units
				testkit.Must(t, g.Close())
				closed.Store(true)
				return
			}
			ids := make([]int64, 5)
			late, err := false, error(nil)
			for !late && !errors.Is(err, uidring.ErrClosed) {
				late = closed.Load()
				var n int
				n, err = taken.Take(t, func() ([]int64, error) { return TakeAny(t, g, 2*i, ids) }) // Next or Fill
				switch {
				case n > 0 && late:
					t.Error("an ID after Close has returned")
				case n > 0:
					lasts[i] = ids[n-1]
				default: // other errors pass
					runtime.Gosched()
				}
			}
		})
		if f, _ := g.Parse(slices.Max(lasts)); f.Delta > used.Load() {
			t.Fatalf("the last ID is %v, and the release tells delta %d", f, used.Load())
		}
	}
}

// Released returns a store with a fenced grant beyond all deltas, and the delta of the release.
func Released() (*fakeassigner.Assigner, *atomic.Int64) {
	used := new(atomic.Int64)
	return &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(1 << 40), OnRelease: func(_ context.Context, _ assigner.Grant, last int64) error {
		used.Store(last)
		return nil
	}}, used
}
