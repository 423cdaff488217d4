package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// From the half of the grant on, the generator asks for more, once, and beyond the grant at once.
func TestGrantIsExtendedFromItsHalfOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(100), OnRenew: fakeassigner.Raise}
		g := open(t, defaultgen.Config{Assigner: store, Now: gentest.Skewed(&by)})
		limit := g.Stats().LastGranted
		for _, ahead := range []time.Duration{40 * time.Second, 60 * time.Second} {
			by.Store(int64(ahead))
			fill(t, g, 3)
			synctest.Wait()
			if got, want := g.Stats().LastGranted > limit, ahead > 50*time.Second; got != want || want && store.Renewals.Load() != 1 {
				t.Errorf("%v ahead: limit %d after %d, %d renewals", ahead, g.Stats().LastGranted, limit, store.Renewals.Load())
			}
		}
		by.Store(int64(time.Hour))
		if d := gentest.Elapsed(func() { wait(t, g) }); d != 0 {
			t.Errorf("NextContext beyond the grant took %v", d)
		}
	})
}

// A renewal moves an idle generator on to the unit before the clock's, never back, and not again to
// a unit of which it has issued IDs. Readings beyond the grant or the layout do not count.
func TestRenewalMovesAnIdleGeneratorOn(t *testing.T) {
	for bits, beyond := range map[uint8]time.Duration{28: time.Hour, 6: 10 * time.Minute} { // of the grant, of the layout
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64 // nanoseconds
			epoch := time.Now()
			store := &fakeassigner.Assigner{Within: 10 * time.Second, OnAssign: fakeassigner.Fenced(1000)}
			g := open(t, defaultgen.Config{Epoch: epoch, Layout: bitsalloc.Layout{DeltaBits: bits, WorkerBits: 10, SequenceBits: 4, Unit: time.Second},
				Now: gentest.Skewed(&off), Assigner: store})
			for _, step := range []struct {
				off  time.Duration
				want int64
			}{{0, 9}, {0, 19}, {-15 * time.Second, 19}, {beyond, 19}, {0, 49}} {
				off.Store(int64(step.off))
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got, unit := store.Oldest.Load(), g.Stats().LastDelta; got != step.want || unit != step.want {
					t.Errorf("after %v with a clock that is off by %v: oldest delta %d, unit %d, want %d", time.Since(epoch), step.off, got, unit, step.want)
				}
			}
			time.Sleep(9500 * time.Millisecond)
			first := next(t, g)
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			off.Store(int64(-600 * time.Millisecond)) // to the unit of the first ID
			if again := next(t, g); again.ID <= first.ID || again.Delta != first.Delta {
				t.Errorf("%v after %v", again, first)
			}
		})
	}
}

// A renewal tells the store the current unit, and asks for it even if the clock is behind it.
func TestRenewalTellsTheUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by, used, want atomic.Int64
		store := &fakeassigner.Assigner{Within: 10 * time.Second, OnAssign: fakeassigner.Fenced(1000),
			OnRenew: func(_ context.Context, _ *assigner.Grant, u, w int64) error {
				used.Store(u)
				want.Store(w)
				return nil
			}}
		g := open(t, defaultgen.Config{Assigner: store, OnClockBack: defaultgen.GoOn, Now: gentest.Skewed(&by)})
		by.Store(int64(time.Minute))
		ahead := next(t, g)
		by.Store(0)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if used.Load() != ahead.Delta+9 || want.Load() != ahead.Delta+9 { // the unit before the clock that is carried on
			t.Errorf("the store learns deltas %d and %d, 10 s after ID %v", used.Load(), want.Load(), ahead)
		}
	})
}

// A unit that a renewal has entered and that has issued no ID is left to the next holder.
func TestReleaseLeavesAUnitWithoutIDs(t *testing.T) {
	for ids := range int64(2) {
		synctest.Test(t, func(t *testing.T) {
			store, used := gentest.Released()
			g := open(t, defaultgen.Config{Assigner: store})
			time.Sleep(10 * time.Second)
			unit := g.Oldest()
			if ids > 0 {
				unit = next(t, g).Delta
			}
			testkit.Must(t, g.Close())
			if got, want := used.Load(), unit-1+ids; got != want {
				t.Errorf("%d IDs of unit %d: the release tells delta %d, want %d", ids, unit, got, want)
			}
		})
	}
}

// The keeper may ask for the oldest delta while Invalidate takes the lease.
func TestOldestDeltaWithoutALease(t *testing.T) {
	store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if nth > 1 {
			return assigner.Grant{}, errors.New("no answer")
		}
		return fakeassigner.Fenced(1000)(ctx, nth, d)
	}}
	g := open(t, defaultgen.Config{Assigner: store})
	last := next(t, g)
	g.Invalidate()
	if got := g.Oldest(); got != last.Delta {
		t.Errorf("the oldest delta is %d after %v", got, last)
	}
}
