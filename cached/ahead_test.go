package cached_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/bubble"
)

// eachPolicy runs a test in a bubble for PadInline and for Reject.
func eachPolicy(t *testing.T, test func(*testing.T, cached.EmptyPolicy)) {
	for name, policy := range map[string]cached.EmptyPolicy{"PadInline": cached.PadInline, "Reject": cached.Reject} {
		bubble.Run(t, name, func(t *testing.T) { test(t, policy) })
	}
}

func TestRingIsFilledAsFarAsMaxAheadAllows(t *testing.T) {
	for _, row := range []struct {
		bound  time.Duration
		blocks int
	}{{time.Second, 1}, {3 * time.Second, 3}, {3999 * time.Millisecond, 3}, {8 * time.Second, 8}, {time.Hour, 8}} {
		bubble.Run(t, row.bound.String(), func(t *testing.T) {
			g := inBubble(t, cached.Config{MaxAhead: row.bound})
			if s := g.Stats(); s.Remaining != row.blocks*16 || s.Ahead != time.Duration(row.blocks)*time.Second {
				t.Errorf("%d IDs, the newest %v ahead, want %d, %ds", s.Remaining, s.Ahead, row.blocks*16, row.blocks)
			}
		})
	}
}

func TestTooFarAheadSaysByHowMuchAndHowLong(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{MaxAhead: 3 * time.Second, OnEmpty: policy})
		drain(t, g)
		_, err := g.Next()
		ahead, ok := errors.AsType[*cached.AheadError](err)
		if !ok || !errors.Is(err, cached.ErrTooFarAhead) {
			t.Fatalf("Next = %v, want an AheadError", err)
		}
		if want := (cached.AheadError{Ahead: 4 * time.Second, Max: 3 * time.Second, RetryIn: time.Second}); *ahead != want {
			t.Errorf("Next = %+v, want %+v", *ahead, want)
		}
		if errors.Is(err, cached.ErrEmpty) != (policy == cached.Reject) {
			t.Errorf("Next = %v: ErrEmpty belongs to Reject", err)
		}
		if !strings.Contains(err.Error(), "by 4s, allowed: 3s") {
			t.Errorf("the error does not say by how much: %v", err)
		}
	})
}

// An error that says "by 1.2s, allowed: 1.5s" makes no sense.
func TestAheadIsMoreThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(900 * time.Millisecond)
		g := inBubble(t, cached.Config{MaxAhead: 1500 * time.Millisecond})
		drain(t, g)
		_, err := g.Next()
		ahead, ok := errors.AsType[*cached.AheadError](err)
		if !ok || ahead.Ahead <= ahead.Max || ahead.RetryIn <= 0 {
			t.Errorf("Next = %v (%+v), want more ahead than allowed", err, ahead)
		}
	})
}

// Only the clock moves here: no Take between shortage and recovery wakes the padding goroutine.
func TestShortageAheadPassesByItself(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{MaxAhead: 3 * time.Second, OnEmpty: policy, MaxStaleness: -1})
		drain(t, g)
		if _, err := g.Next(); !errors.Is(err, cached.ErrTooFarAhead) {
			t.Fatalf("Next = %v, want ErrTooFarAhead", err)
		}
		for i := range 3 {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := g.Stats().Remaining, (i+1)*16; got != want {
				t.Fatalf("after %d s: %d IDs in the ring, want %d", i+1, got, want)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		next(t, g)
	})
}

// Waiting for the clock costs one padding pass per unit of time, however often callers ask.
func TestRefusedPaddingDoesNotSpin(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{MaxAhead: 2 * time.Second, OnEmpty: policy, MaxStaleness: -1})
		drain(t, g)
		before := g.Stats()
		for range 10_000 { // over 10 s
			time.Sleep(time.Millisecond)
			if _, err := g.Next(); err == nil {
				drain(t, g)
			}
		}
		synctest.Wait()
		if got := g.Stats().RejectedPuts - before.RejectedPuts; got > 11 {
			t.Errorf("%d refused padding passes in 10 s, want one a second", got)
		}
	})
}

// A shortage that has passed is not the reason of a later one.
func TestEmptyRingGivesNoReasonOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, gate := false, make(chan struct{})
		g := inBubble(t, cached.Config{MaxAhead: 10 * time.Second, OnEmpty: cached.Reject, MaxStaleness: -1, Trace: cached.Trace{
			Padded: func(cached.PaddedInfo) {
				if held {
					<-gate
				}
			},
		}})
		empty := func() error {
			for {
				if _, err := g.Next(); err != nil {
					return err
				}
			}
		}
		for err := empty(); !errors.Is(err, cached.ErrTooFarAhead); err = empty() {
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		held = true // the next pass ends with a full ring, and its goroutine is held up
		take(t, g, 4*16+1)
		synctest.Wait()
		if err := empty(); !errors.Is(err, cached.ErrEmpty) || errors.Is(err, cached.ErrTooFarAhead) {
			t.Errorf("Next = %v, want ErrEmpty alone", err)
		}
		close(gate)
	})
}
