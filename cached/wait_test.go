package cached_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/together"
)

// TestWaitersDoNotSpin lets many goroutines wait for more IDs than the clock gives in ten units.
func TestWaitersDoNotSpin(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{MaxAhead: time.Second, OnEmpty: policy, MaxStaleness: -1})
		drain(t, g)
		before := g.Stats()
		start := time.Now()
		together.Run(10*16, func(int) {
			if _, err := g.NextContext(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("160 IDs took %v, want 10s", got)
		}
		after := g.Stats()
		if n := after.RejectedPuts - before.RejectedPuts; n > 22 {
			t.Errorf("%d refused padding passes in 10 s, want about one a second", n)
		}
		if n := after.RejectedTakes - before.RejectedTakes; n != 0 {
			t.Errorf("%d rejected takes, but every caller got its ID", n)
		}
	})
}

// A passing shortage turns into a permanent one while callers wait.
func TestEndOfTimeEndsEveryWait(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		layout := narrow()
		layout.DeltaBits = 17 // ends at delta 131,071
		store := &fakeassigner.Assigner{OnAssign: fenced(5), OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
			return errors.New("store is down")
		}}
		g := inBubble(t, cached.Config{Layout: layout, Assigner: store, OnEmpty: policy})
		usedUp(t, g)
		ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
		defer cancel()
		if id, err := g.NextContext(ctx); id != 0 || !errors.Is(err, cached.ErrTimeExhausted) {
			t.Errorf("NextContext = %d, %v, want ErrTimeExhausted", id, err)
		}
	})
}
