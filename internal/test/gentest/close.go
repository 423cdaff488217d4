package gentest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
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

func (s *suite) closed(t *testing.T) {
	var by atomic.Int64
	g := s.open(t, keeper.Settings{Now: Skewed(&by), Trace: keeper.Trace{TakeRejected: func(i uidring.TakeRejectedInfo) { t.Errorf("TakeRejected(%v)", i.Err) }}})
	f := Wait(t, g)
	ended, cancel := context.WithCancel(t.Context())
	cancel() // which does not matter while there are IDs
	for name, take := range waits(g) {
		id, err := take(ended)
		if id <= f.ID {
			t.Errorf("%s: ID %d after %v", name, id, f)
		}
		f = Parse(t, g, id, err)
	}
	for _, n := range []int{0, -1} {
		first, got, err := g.Reserve(n)
		firstWaits, gotWaits, errWaits := g.ReserveContext(t.Context(), n)
		if first != 0 || got != 0 || err != nil || firstWaits != 0 || gotWaits != 0 || errWaits != nil {
			t.Errorf("Reserve(%d) = %d, %d, %v, and waiting %d, %d, %v, want zeros", n, first, got, err, firstWaits, gotWaits, errWaits)
		}
	}
	worker, last := g.WorkerID(), s.Stats(g).LastDelta
	testkit.Must(t, g.Close())
	for _, step := range []time.Duration{0, time.Second, -time.Hour, 1 << 60} {
		by.Store(int64(step))
		if id, err := g.Next(); id != 0 || !errors.Is(err, uidring.ErrClosed) {
			t.Errorf("Next = %d, %v, want %v", id, err, uidring.ErrClosed)
		}
		for name, take := range waits(g) {
			if id, err := take(t.Context()); id != 0 || !errors.Is(err, uidring.ErrClosed) {
				t.Errorf("%s = %d, %v, want %v", name, id, err, uidring.ErrClosed)
			}
		}
		if n, err := g.Fill(make([]int64, 3)); n != 0 || !errors.Is(err, uidring.ErrClosed) {
			t.Errorf("Fill = %d, %v, want %v", n, err, uidring.ErrClosed)
		}
	}
	by.Store(0)
	g.Invalidate() // does nothing, and does not hang
	if st := s.Stats(g); Parse(t, g, f.ID, nil).WorkerID != worker || g.WorkerID() != worker || st.LastDelta != last || st.RejectedTakes != 0 {
		t.Errorf("after Close: worker %d, Stats %+v, want worker %d, delta %d, no rejected take", g.WorkerID(), st, worker, last)
	}
}

// closeWakes closes a generator on many goroutines while callers wait for a worker ID and the store
// is out of reach, as it may be at a shutdown. The callers return at once. Close takes
// AssignTimeout; all calls wait for the one release, which names no delta above the last one, and
// return its error.
func (s *suite) closeWakes(t *testing.T) {
	var used atomic.Int64
	store := &fakeassigner.Assigner{
		OnAssign: fakeassigner.Fenced(1),
		OnRenew:  func(context.Context, *assigner.Grant, int64, int64) error { return errDown },
		OnRelease: func(ctx context.Context, _ assigner.Grant, last int64) error {
			used.Store(last)
			<-ctx.Done()
			return ctx.Err()
		},
	}
	g, err := s.make(t, s.config(keeper.Settings{Assigner: store, AssignTimeout: 3 * time.Second}))
	testkit.Must(t, err)
	time.Sleep(time.Second)
	if _, err := g.Next(); !errors.Is(err, uidring.ErrLeaseExhausted) {
		t.Fatalf("Next = %v, want %v", err, uidring.ErrLeaseExhausted)
	}
	closing := time.Now().Add(time.Minute)
	testkit.Together(16, func(i int) {
		if i < 8 {
			if id, err := g.NextContext(t.Context()); id != 0 || !errors.Is(err, uidring.ErrClosed) || !time.Now().Equal(closing) {
				t.Errorf("NextContext = %d, %v, %v after Close began, want %v at once", id, err, time.Since(closing), uidring.ErrClosed)
			}
			return
		}
		time.Sleep(time.Until(closing))
		for range 3 {
			if err := g.Close(); err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), s.Package+": ") || time.Since(closing) != 3*time.Second {
				t.Errorf("Close = %v after %v, want the error of the release after 3s", err, time.Since(closing))
			}
		}
	})
	st := s.Stats(g)
	if n, last := store.Releases.Load(), min(st.LastDelta, st.LastGranted); n != 1 || used.Load() > last {
		t.Errorf("%d releases, the last with used %d, want one with %d at most", n, used.Load(), last)
	}
}

// closeUnderLoad has callers that race with Close, in many units a millisecond if the package
// allows it. They get good IDs or ErrClosed, no ID after Close has returned, and none above the
// delta of the release.
func (s *suite) closeUnderLoad(t *testing.T) {
	layout := bitsalloc.Layout{DeltaBits: 50, WorkerBits: 10, SequenceBits: 3, Unit: time.Millisecond}
	for range testkit.Scaled(60) {
		store, used := Released()
		g := s.open(t, keeper.Settings{Assigner: store, Layout: layout})
		var taken idset.Ledger
		var closed atomic.Bool
		lasts := make([]int64, 9)
		testkit.Together(len(lasts), func(i int) {
			if i == 0 {
				testkit.Yield()
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

// lastDelta closes generators that have issued IDs, or none: the release names the delta of the
// last ID, or an earlier one than the first ID would have.
func (s *suite) lastDelta(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Hour} { // an idle generator moves on with the clock
		for n := range max(testkit.Scaled(200), 70) { // more IDs than a unit has
			layout, epoch := narrow(), NewEpoch()
			layout.SequenceBits += uint8(n % 2 * 4) // units begin at a scattered sequence number from 8 bits on
			n := n / 2
			store, used := Released()
			g := s.open(t, keeper.Settings{Layout: layout, Epoch: epoch, Assigner: store})
			began := int64(time.Since(epoch) / layout.Unit)
			var last bitsalloc.Fields
			if n > 0 {
				last = take(t, g, n)
			}
			time.Sleep(pause)
			testkit.Must(t, g.Close())
			if got := used.Load(); n > 0 && pause == 0 && got != last.Delta || got < last.Delta || n == 0 && pause == 0 && got > began {
				t.Errorf("%d IDs up to %v, then %v: the release tells delta %d", n, last, pause, got)
			}
		}
	}
}
