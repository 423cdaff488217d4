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
)

// heartbeat is the time between two renewals when nothing else calls for one, and minute is longer.
const heartbeat, minute = 45 * time.Second, time.Minute

// losing is a store whose leases are lost at the first renewal. It gives the worker IDs from 1,000
// down: a smaller worker ID makes it hard to keep IDs increasing.
func losing() *fakeassigner.Assigner {
	return &fakeassigner.Assigner{
		OnAssign: func(_ context.Context, nth int, _ assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 1001 - int64(nth), First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
		},
		OnRenew: func(context.Context, *assigner.Grant, int64, int64) error { return assigner.ErrWorkerRowLost },
	}
}

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

// A worker that is lost leaves the rest of its unit unused. Callers that wait must not hear of a
// clock that went back, since it did not.
func TestLossIsNoStepBackOfTheClock(t *testing.T) {
	for _, bits := range []uint8{4, 0} { // a unit that is used up, and no sequence field
		synctest.Test(t, func(t *testing.T) {
			store := losing()
			store.OnAssign = func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: 4, First: 1, Last: assigner.Unlimited, Reusable: true}, nil
			}
			layout := narrow(minute)
			layout.SequenceBits = bits
			g := open(t, defaultgen.Config{Assigner: store, Layout: layout})
			var last bitsalloc.Fields
			for range 1 << bits { // the whole unit
				last = wait(t, g)
			}
			time.Sleep(50 * time.Second) // within the unit
			if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) || store.Assigns.Load() < 2 {
				t.Errorf("Next after a loss: %v, want ErrSequenceExhausted", err)
			}
			checkAt(t, wait(t, g), last.Delta+1, 0)
		})
	}
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
				Now:      func() time.Time { return time.Now().Add(time.Duration(off.Load())) },
				Assigner: store})
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
