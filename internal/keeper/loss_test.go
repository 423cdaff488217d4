package keeper_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

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
		testkit.Pause(t.Context(), 2*time.Millisecond)
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
