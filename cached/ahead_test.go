package cached_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// eachPolicy runs a test in a bubble for PadInline and for Reject.
func eachPolicy(t *testing.T, test func(*testing.T, cached.EmptyPolicy)) {
	for name, policy := range map[string]cached.EmptyPolicy{"PadInline": cached.PadInline, "Reject": cached.Reject} {
		testkit.Bubble(t, name, func(t *testing.T) { test(t, policy) })
	}
}

// The ring is filled as far as MaxAhead allows, in whole units of the layout. The error says by how
// much and for how long the next unit is too far ahead.
func TestMaxAheadBoundsIDTime(t *testing.T) {
	for name, row := range map[string]struct {
		into, bound time.Duration
		assign      fakeassigner.AssignFunc
		blocks      int
		after       time.Duration
		says        string
	}{
		"a unit":            {0, time.Second, fresh, 1, time.Second, "by 2s, allowed: 1s"},
		"not whole":         {0, 3999 * time.Millisecond, fenced(1000), 3, time.Second, "by 4s, allowed: 3s"},
		"within a unit":     {900 * time.Millisecond, 1500 * time.Millisecond, fresh, 1, 100 * time.Millisecond, "by 1.1s, allowed: 1s"},
		"as much as a ring": {0, 8 * time.Second, fresh, 8, time.Second, "by 9s, allowed: 8s"},
	} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				time.Sleep(row.into)
				began := time.Now()
				g := inBubble(t, cached.Config{MaxAhead: row.bound, OnEmpty: policy, Assigner: &fakeassigner.Assigner{OnAssign: row.assign}})
				refused := map[bool]int64{true: 2}[row.blocks < 8] // in New, and at the first look of the padding goroutine
				if s := g.Stats(); s.Remaining != row.blocks*16 || s.Ahead != time.Duration(row.blocks)*time.Second-row.into || time.Since(began) > 0 || s.RejectedPuts != refused {
					t.Errorf("%d IDs, the newest %v ahead, %d refused passes, want %d blocks, at once, and %d", s.Remaining, s.Ahead, s.RejectedPuts, row.blocks, refused)
				}
				drain(t, g)
				_, err := g.Next()
				after, ok := uidring.RetryAfter(err)
				if !ok || after != row.after || !errors.Is(err, cached.ErrTooFarAhead) || !strings.Contains(err.Error(), row.says) ||
					errors.Is(err, cached.ErrEmpty) != (policy == cached.Reject) {
					t.Errorf("Next = %v, again after %v, want %v, with ErrEmpty under Reject", err, after, row.after)
				}
			})
		})
	}
}

// TestWaitersDoNotSpin lets many goroutines wait for more IDs than the clock gives in ten units.
func TestWaitersDoNotSpin(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{MaxAhead: time.Second, OnEmpty: policy, MaxStaleness: -1})
		drain(t, g)
		before := g.Stats()
		if d := gentest.Elapsed(func() {
			testkit.Together(10*16, func(int) {
				if _, err := g.NextContext(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}); d != 10*time.Second {
			t.Errorf("160 IDs took %v, want 10s", d)
		}
		if s := g.Stats(); s.RejectedPuts < before.RejectedPuts+10 || s.RejectedPuts > before.RejectedPuts+22 || s.RejectedTakes != before.RejectedTakes {
			t.Errorf("%+v after %+v, want about one refused padding pass a second, and no rejected take", s, before)
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
		g := inBubble(t, cached.Config{Layout: layout, Assigner: store, OnEmpty: policy, MaxStaleness: 10 * time.Minute})
		for err := error(nil); !errors.Is(err, cached.ErrLeaseExhausted); synctest.Wait() {
			if _, err = g.Next(); err != nil && !errors.Is(err, cached.ErrEmpty) && !errors.Is(err, cached.ErrLeaseExhausted) {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
		defer cancel()
		before := g.Stats().RejectedTakes
		if id, err := g.NextContext(ctx); id != 0 || !errors.Is(err, cached.ErrTimeExhausted) || g.Stats().RejectedTakes != before+1 {
			t.Errorf("NextContext = %d, %v, want ErrTimeExhausted, and a rejected take", id, err)
		}
		time.Sleep(time.Hour) // the generator checks for blocks that are stale
	})
}
