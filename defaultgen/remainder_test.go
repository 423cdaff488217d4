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
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// lost is a store with a lease on the present delta and the 99 after it, which ends at the first
// renewal, as err says and with a limit of left deltas after that renewal. There is no other until
// up is set.
type lost struct {
	fakeassigner.Assigner
	up   atomic.Bool
	now  func() int64
	left int64
}

func losingFenced(left int64, err error) *lost {
	s := &lost{left: left}
	s.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if nth > 1 && !s.up.Load() {
			return assigner.Grant{}, errors.New("store is down")
		}
		s.now = d.Now
		g, err := fakeassigner.Fenced(100)(ctx, nth, d)
		g.WorkerID = 1001 - int64(min(nth, 1000))
		return g, err
	}
	s.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		if g.WorkerID == 1000 {
			g.Limit = min(g.Limit, s.now()+s.left)
			return err
		}
		return fakeassigner.Raise(ctx, g, used, want)
	}
	return s
}

// The next lease has a smaller worker ID: it begins in a later unit.
func TestIDsIncreaseFromALostLeaseToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := losingFenced(1000, assigner.ErrWorkerRowLost)
		g := open(t, defaultgen.Config{Assigner: s, Layout: narrow(minute), SequenceStart: defaultgen.Zero})
		time.Sleep(heartbeat)
		last := next(t, g)
		s.up.Store(true)
		time.Sleep(10 * time.Second) // in the same unit
		if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) || g.WorkerID() == last.WorkerID {
			t.Fatalf("Next with worker %d after %v: %v, want ErrSequenceExhausted", g.WorkerID(), last, err)
		}
		checkAt(t, wait(t, g), last.Delta+1, 0)
	})
}

// The clock is read between the look at the lease and the claim, which stops a caller there.
func TestACallerInFlightIssuesNothingAboveALimitThatWasLowered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := losingFenced(10, assigner.ErrWorkerRowLost)
		var stop atomic.Bool
		reading, goOn := make(chan struct{}), make(chan struct{})
		g := open(t, defaultgen.Config{Assigner: s, Now: func() time.Time {
			now := time.Now()
			if stop.CompareAndSwap(true, false) {
				now = now.Add(20 * time.Second) // within the limit as it is before
				close(reading)
				<-goOn
			}
			return now
		}})
		time.Sleep(heartbeat - time.Second)
		stop.Store(true)
		result := make(chan int64)
		go func() {
			id, err := g.Next()
			if err != nil {
				t.Errorf("Next with a clock that is right again: %v", err)
			}
			result <- id
		}()
		<-reading
		time.Sleep(2 * time.Second)
		close(goOn)
		if f, limit := parse(t, g, <-result), g.Stats().Limit; f.Delta > limit || !f.Time.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("ID %v, want one of the present, up to the limit %d", f, limit)
		}
	})
}
