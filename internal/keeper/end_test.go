package keeper_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// An assigner that keeps a record of its leases refuses another one until the first is abandoned.
func TestLeaseIsAbandonedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.OnAbandon = func(g assigner.Grant) { r.Note("abandon %d", g.WorkerID-r.first) }
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			r.Note("assign")
			if n > 1 {
				return assigner.Grant{}, errors.New("store is down")
			}
			return r.fresh(n), nil
		}
		r.open(t)
		r.Read()
		r.Invalidate()
		synctest.Wait()
		same(t, r.Read()[2:], "0s abandon 0", "0s assign", "0s INFO worker ID assigned", "0s assigned 1")
		r.ended = func() { // Close is called before the keeper wakes up
			r.ended = nil
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		r.Invalidate()
		same(t, r.Read(), "0s ended", "0s abandon 1", "0s ended", "0s INFO worker ID invalidated")
	})
}

// A lease that is being taken or renewed when Invalidate is called may be older than the copy of
// the process.
func TestInvalidateReachesACallInProgress(t *testing.T) {
	for call, extend := range map[string]bool{"Assign": false, "Renew": true} {
		bubble(t, func(t *testing.T, r *rig) {
			fence(r)
			give := r.assign
			r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
				if n == 1 {
					time.Sleep(time.Second)
				}
				return give(ctx, n)
			}
			renewSlowly(r)
			r.open(t)
			want := int64(2)
			if extend {
				r.Extend(120)
				want = 1
			} else {
				r.Invalidate()
			}
			time.Sleep(500 * time.Millisecond)
			r.Invalidate()
			time.Sleep(5 * time.Second)
			if h := r.Current(); h == nil || h.WorkerID != r.first+want {
				t.Errorf("%s: Current = %+v, want worker ID %d of the test", call, h, want)
			}
			if lines := r.Read(); !extend && slices.Contains(lines, "1s assigned 1") {
				t.Errorf("events %q, want nothing of the dropped lease", lines)
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
		r.ended = nil // not at Close
	}
	changed := r.Changed()
	r.Invalidate()
	<-changed
	if h := r.Current(); h.WorkerID != r.first+1 {
		t.Errorf("Current = %+v, want the second lease", h)
	}
}
