package defaultgen_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// heartbeat is the time between two renewals when nothing else calls for one.
const heartbeat = 45 * time.Second

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

// A caller has loaded the unit and the grant, and is held up while it reads the clock. Meanwhile
// another caller enters a unit, or the lease changes.
func TestCallerThatIsHeldUpWhileItReadsTheClock(t *testing.T) {
	extended := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(100), OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
		g.Last = want + 100
		return nil
	}}
	for name, row := range map[string]struct {
		store       *fakeassigner.Assigner
		taken       int           // IDs of the unit before
		pause, held time.Duration // before the call, and in it
		step        time.Duration // of the clock, which the caller is the first to read
		other       bool          // another caller takes an ID meanwhile
		worker      int64         // of the caller's ID
	}{
		"another caller enters its unit":        {losing(), 1, time.Second, 0, 0, true, 1000},
		"another caller enters the next unit":   {losing(), 1, time.Second, time.Second, 0, true, 1000},
		"its error is no longer true":           {losing(), 16, 0, time.Second, 0, true, 1000},
		"its worker ID is lost":                 {losing(), 3, heartbeat - 500*time.Millisecond, 10 * time.Second, 0, false, 999},
		"its worker ID is lost to another call": {losing(), 16, heartbeat - 500*time.Millisecond, 10 * time.Second, 0, true, 999},
		"its grant is extended":                 {extended, 1, 0, time.Minute, time.Hour, false, 1},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			var by atomic.Int64
			var hold atomic.Bool
			var g *defaultgen.Generator
			var other bitsalloc.Fields
			g = open(t, defaultgen.Config{Assigner: row.store, SequenceStart: defaultgen.Zero, Now: func() time.Time {
				if !hold.CompareAndSwap(true, false) {
					return time.Now().Add(time.Duration(by.Load()))
				}
				by.Store(int64(row.step))
				now := time.Now().Add(row.step)
				time.Sleep(row.held)
				if row.other {
					other = next(t, g)
				}
				return now
			}})
			fill(t, g, row.taken)
			time.Sleep(row.pause)
			synctest.Wait() // a renewal reads the clock, too
			hold.Store(true)
			f, sequence := next(t, g), int64(0)
			if row.other {
				sequence = 1
			}
			checkTime(t, f, time.Now().Add(row.step), time.Second)
			if f.WorkerID != row.worker || f.Sequence != sequence || f.ID <= other.ID || other.Sequence != 0 {
				t.Errorf("the caller held up got %v, the other one %v, want worker %d, sequence %d", f, other, row.worker, sequence)
			}
		})
	}
}
