package cached_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
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
		lane, other := g.Lane(), g.Lane()
		defer lane.Close()
		defer other.Close()
		from := make(map[int64]int64)
		for i := range int64(3 * 16) {
			for j, l := range []*cached.Lane{lane, other} {
				f := parse(t, g, laneNext(t, l))
				if f.Sequence != i%16 {
					t.Fatalf("ID %d of lane %d is %v, want sequence %d", i, j, f, i%16)
				}
				if owner, seen := from[f.Delta]; seen && owner != int64(j) {
					t.Fatalf("%v in both lanes", f)
				}
				from[f.Delta] = int64(j)
			}
		}
		if f := next(t, g); from[f.Delta] != 0 || f.Sequence != 0 {
			t.Errorf("the generator's own ID is %v, want a unit that no lane has", f)
		}
	})
}

// The store gives no worker ID for an hour after Invalidate.
func TestLaneEndsWithInvalidateAndClose(t *testing.T) {
	for _, taken := range []int{1, 15, 16, 8 * 16} { // the block of the last is the newest
		synctest.Test(t, func(t *testing.T) {
			g := inBubble(t, cached.Config{MaxStaleness: -1, Assigner: &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if nth > 1 {
					time.Sleep(time.Hour)
				}
				return fenced(8)(ctx, nth, d)
			}}})
			lane, before := g.Lane(), g.WorkerID()
			for range taken {
				laneNext(t, lane)
			}
			g.Invalidate()
			if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrLeaseExhausted) {
				t.Errorf("%d taken: Next after Invalidate = %d, %v, want ErrLeaseExhausted", taken, id, err)
			}
			time.Sleep(2 * time.Hour)
			if f := parse(t, g, laneNext(t, lane)); f.WorkerID == before || f.Sequence != int64(taken%16) {
				t.Errorf("%d taken: %v after Invalidate, want another worker ID and the next sequence number", taken, f)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) {
					t.Errorf("Next after Close of the generator = %d, %v, want ErrClosed", id, err)
				}
			}
		})
	}
}

func TestClosedLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		lane := g.Lane()
		for range 5 {
			laneNext(t, lane)
		}
		if s := g.Stats(); s.Issued != 16 || s.Remaining != 7*16 {
			t.Errorf("Issued %d, Remaining %d with a lane, want 16 and %d", s.Issued, s.Remaining, 7*16)
		}
		for range 2 {
			lane.Close()
		}
		unused := g.Lane()
		unused.Close()
		if id, err := unused.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) {
			t.Errorf("Next of a lane closed before its first ID = %d, %v, want ErrClosed", id, err)
		}
		for range 3 {
			if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) || err.Error() != "cached: lane closed" {
				t.Errorf("Next = %d, %v, want ErrClosed of the lane", id, err)
			}
		}
		if s := g.Stats(); s.RejectedTakes != 0 {
			t.Errorf("RejectedTakes %d, want 0", s.RejectedTakes)
		}
		next(t, g)
	})
}

func TestReserveReturnsARange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		end := int64(0)
		for _, row := range []struct{ n, want int }{{0, 0}, {-1, 0}, {5, 5}, {11, 11}, {100, 16}, {math.MaxInt, 16}, {1, 1}} {
			first, got, err := g.Reserve(row.n)
			if got != row.want || err != nil {
				t.Fatalf("Reserve(%d) = %d IDs, %v, want %d", row.n, got, err, row.want)
			}
			if got == 0 {
				if first != 0 {
					t.Errorf("Reserve(%d) = %d, want 0", row.n, first)
				}
				continue
			}
			if first < end {
				t.Errorf("Reserve(%d) begins at %d, before %d", row.n, first, end)
			}
			a, b := parse(t, g, first), parse(t, g, first+int64(got)-1)
			if a.Delta != b.Delta || a.WorkerID != b.WorkerID {
				t.Errorf("Reserve(%d) is from %v to %v, want one unit", row.n, a, b)
			}
			end = first + int64(got)
		}
		if id := next(t, g).ID; id < end {
			t.Errorf("Next = %d, which is reserved", id)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if first, n, err := g.Reserve(1); first != 0 || n != 0 || !errors.Is(err, cached.ErrClosed) {
			t.Errorf("Reserve after Close = %d, %d, %v", first, n, err)
		}
	})
}
