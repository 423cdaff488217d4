package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

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
