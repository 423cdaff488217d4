package cached_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
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
func TestALaneTakesUnitsWhole(t *testing.T) {
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

func TestAnIdleLaneIsNoStalerThanMaxStaleness(t *testing.T) {
	for name, lanes := range map[string]int{"own": 0, "of CPUs": cached.LanePerCPU} {
		bubble.Run(t, name, func(t *testing.T) {
			put := int64(0)
			g := inBubble(t, cached.Config{Lanes: lanes, Trace: cached.Trace{
				Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
			}})
			take := g.Next
			if lanes == 0 {
				take = g.Lane().Next
			}
			issued := int64(0)
			for range 500 {
				id, err := take()
				if err != nil {
					t.Fatal(err)
				}
				issued++
				if f := parse(t, g, id); time.Since(f.Time) > time.Minute {
					t.Fatalf("at %v: %v is more than a minute old", time.Now(), f)
				}
				time.Sleep(17 * time.Second)
			}
			synctest.Wait()
			checkSum(t, g.Stats(), put, issued)
		})
	}
}

func TestLanesAreDroppedByInvalidateAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		put := int64(0)
		store := &fakeassigner.Assigner{OnAssign: fresh}
		g := inBubble(t, cached.Config{Assigner: store, Lanes: cached.LanePerCPU, Trace: cached.Trace{
			Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
		}})
		lane := g.Lane()
		before := g.WorkerID()
		laneNext(t, lane)
		next(t, g)
		g.Invalidate()
		synctest.Wait()
		for _, id := range []int64{laneNext(t, lane), next(t, g).ID} {
			if f := parse(t, g, id); f.WorkerID == before || f.WorkerID != g.WorkerID() {
				t.Errorf("%v after Invalidate, want worker %d", f, g.WorkerID())
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) {
				t.Errorf("Next after Close of the generator = %d, %v, want ErrClosed", id, err)
			}
		}
		s := g.Stats()
		if s.Remaining != 0 {
			t.Errorf("Remaining = %d after Close", s.Remaining)
		}
		checkSum(t, s, put, 4)
	})
}

// IDs composed under a fence stay valid when the worker ID is lost, in lanes and in the ring.
func TestAFencedLaneIsValidAfterTheLossOfItsWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		store := &fakeassigner.Assigner{OnAssign: fenced(5), OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
			if lost.Load() {
				return assigner.ErrWorkerRowLost
			}
			return nil
		}}
		g := inBubble(t, cached.Config{Assigner: store, MaxStaleness: -1})
		lane := g.Lane()
		defer lane.Close()
		worker := g.WorkerID()
		laneNext(t, lane)
		lost.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if g.WorkerID() == worker {
			t.Fatal("the worker ID has not been lost")
		}
		if f := parse(t, g, laneNext(t, lane)); f.WorkerID != worker || f.Sequence != 1 {
			t.Errorf("%v, want the rest of the lane", f)
		}
	})
}

func TestAClosedLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		lane := g.Lane()
		for range 5 {
			laneNext(t, lane)
		}
		if s := g.Stats(); s.Issued != 5 || s.Remaining != 8*16-5 {
			t.Errorf("Issued %d, Remaining %d with a lane, want 5 and %d", s.Issued, s.Remaining, 8*16-5)
		}
		for range 2 {
			lane.Close()
		}
		for range 3 {
			if id, err := lane.Next(); id != 0 || !errors.Is(err, cached.ErrClosed) || err.Error() != "cached: lane closed" {
				t.Errorf("Next = %d, %v, want ErrClosed of the lane", id, err)
			}
		}
		if s := g.Stats(); s.Issued != 5 || s.Retired != 11 || s.RejectedTakes != 0 {
			t.Errorf("Issued %d, Retired %d, RejectedTakes %d, want 5, 11, 0", s.Issued, s.Retired, s.RejectedTakes)
		}
		if n := g.Handles(); n != 0 {
			t.Errorf("the generator keeps %d lanes, want none", n)
		}
		next(t, g)
	})
}

// A lane with nothing to take has the errors of Next, and goes on when there are IDs again.
func TestALaneWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{MaxAhead: time.Second, OnEmpty: cached.Reject, MaxStaleness: -1})
		lane := g.Lane()
		defer lane.Close()
		last := int64(0)
		for range 3 {
			for {
				id, err := lane.Next()
				if errors.Is(err, cached.ErrEmpty) {
					if id != 0 {
						t.Fatalf("Next = %d, %v", id, err)
					}
					break
				}
				if err != nil || id <= last {
					t.Fatalf("Next = %d, %v after %d", id, err, last)
				}
				last = id
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
	})
}

// A CPU takes blocks whole, which the stream then lacks.
func TestLanesOfCPUsTakeUnitsWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for lanes, want := range map[int]int64{0: 0, 1: 0, 2: 1, 3: 1, cached.LanePerCPU: 1} {
		g := open(t, cached.Config{Layout: narrow(), Lanes: lanes, MaxStaleness: -1})
		id := next(t, g)
		first, _, err := g.Reserve(1)
		if f := parse(t, g, first); err != nil || f.Delta-id.Delta != want {
			t.Errorf("Lanes %d: %v, %v after %v, want %d units later", lanes, f, err, id, want)
		}
		g = open(t, cached.Config{Layout: narrow(), Lanes: lanes, MaxStaleness: -1})
		taken := make(map[int64]int64) // by delta; without pinning a goroutine has any lane
		for range 4 * 16 {
			id, err := g.NextContext(t.Context())
			f := parse(t, g, id)
			if err != nil || f.Sequence != taken[f.Delta] {
				t.Fatalf("Lanes %d: NextContext = %v, %v, want sequence number %d", lanes, f, err, taken[f.Delta])
			}
			taken[f.Delta]++
		}
		if n, most := len(taken), 4+max(lanes, runtime.NumCPU()); n > most {
			t.Errorf("Lanes %d: 64 IDs are of %d units, want %d at most", lanes, n, most)
		}
	}
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
