package cached_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// laneNext returns the next ID of a lane, which must be there.
func laneNext(t testing.TB, l *cached.Lane) int64 {
	t.Helper()
	id, err := l.Next()
	if err != nil || id <= 0 {
		t.Fatalf("Next = %d, %v", id, err)
	}
	return id
}

// A lane issues a whole unit of time before it goes on with a later one.
func TestLaneTakesUnitsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		lanes, from := []*cached.Lane{g.Lane(), g.Lane()}, make(map[int64]int)
		for i := range int64(3 * 16) {
			for j, l := range lanes {
				f := parse(t, g, laneNext(t, l))
				if owner, seen := from[f.Delta]; f.Sequence != i%16 || seen && owner != j {
					t.Fatalf("ID %d of lane %d is %v, want sequence %d of a unit of its own", i, j, f, i%16)
				}
				from[f.Delta] = j
			}
		}
		f := next(t, g)
		if _, seen := from[f.Delta]; seen || f.Sequence != 0 {
			t.Errorf("the generator's own ID is %v, want a unit that no lane has", f)
		}
		if s := g.Stats(); s.Issued != 6*16+1 {
			t.Errorf("Issued %d, want the units of the lanes and an ID", s.Issued)
		}
	})
}

// The store gives no worker ID for an hour after Invalidate.
func TestLaneEndsWithInvalidateAndClose(t *testing.T) {
	for _, taken := range []int{1, 15, 16, 8 * 16} { // the block of the last is the newest
		synctest.Test(t, func(t *testing.T) {
			g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if nth > 1 {
					time.Sleep(time.Hour)
				}
				return fenced(1<<20)(ctx, nth, d)
			}}})
			lane, before := g.Lane(), g.WorkerID()
			for range taken {
				laneNext(t, lane)
			}
			g.Invalidate()
			for range 3 {
				if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrLeaseExhausted) {
					t.Errorf("%d taken: Next after Invalidate = %d, %v, want ErrLeaseExhausted", taken, id, err)
				}
				time.Sleep(16 * time.Second) // the generator checks for blocks that are stale
			}
			time.Sleep(2 * time.Hour)
			if f := parse(t, g, laneNext(t, lane)); f.WorkerID == before {
				t.Errorf("%d taken: %v after Invalidate, want another worker ID", taken, f)
			}
			testkit.Must(t, g.Close())
			if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) {
				t.Errorf("Next after Close of the generator = %d, %v, want ErrClosed", id, err)
			}
		})
	}
}
