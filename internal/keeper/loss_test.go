package keeper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Requests of a generator whose lease is lost do not hammer the store, however it refuses.
func TestRequestsAfterALossDoNotHammerTheStore(t *testing.T) {
	for name, row := range map[string]struct {
		err   error
		calls int64
	}{
		"down":       {errors.New("store is down"), 20},
		"lost again": {assigner.ErrWorkerRowLost, 20},
		"quarantine": {generator.Passing{Err: assigner.ErrQuarantined, After: time.Hour}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				fence(r)
				give := r.assign
				r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
					if n > 0 {
						return assigner.Grant{}, row.err
					}
					return give(ctx, n)
				}
				r.renew = func(context.Context, *assigner.Grant, int64, int64) error { return assigner.ErrWorkerRowLost }
				r.open(t)
				for i := range int64(10_000) {
					r.Extend(101 + i)
					time.Sleep(time.Millisecond)
				}
				if n := r.store.Assigns.Load(); n < 2 || n > row.calls {
					t.Errorf("%d calls of Assign in 10 s, want at most %d", n, row.calls)
				}
				if h := r.Current(); h == nil || h.Last != 100 {
					t.Errorf("Current = %+v, want the first grant", h)
				}
			})
		})
	}
}

// Assign may be under way at each call of Invalidate, which may also come beside Close; the race
// detector watches.
func TestInvalidateBesideAssignAndClose(t *testing.T) {
	for range 20 {
		r := newRig()
		testkit.Must(t, r.startIn(t.Context(), r.settings()))
		for range 50 {
			r.Invalidate()
		}
		for changed := r.Changed(); r.Current() == nil; changed = r.Changed() {
			<-changed
		}
		testkit.Together(2, func(i int) {
			if i == 0 {
				r.Invalidate()
			} else {
				testkit.Must(t, r.Close())
			}
		})
	}
}

// TestNoLeaseIsTakenBeforeTheOldOneHasEnded wakes the keeper in the middle of Invalidate, while a
// padding pass may still use the old worker ID. It runs in real time: a goroutine at a mutex stops
// a bubble's clock.
func TestNoLeaseIsTakenBeforeTheOldOneHasEnded(t *testing.T) {
	r := newRig()
	r.open(t)
	r.ended = func() {
		r.Extend(1 << 20)
		testkit.Yield()
		if n := r.store.Assigns.Load(); n != 1 {
			t.Errorf("%d leases taken, want the first alone", n)
		}
		r.ended = func() {} // not at Close
	}
	changed := r.Changed()
	r.Invalidate()
	<-changed
	if h := r.Current(); h.WorkerID != r.first+1 {
		t.Errorf("Current = %+v, want the second lease", h)
	}
}
