package cached_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

func TestRingIsFilledAsFarAsMaxAheadAllows(t *testing.T) {
	for _, row := range []struct {
		bound  time.Duration
		blocks int
	}{{time.Second, 1}, {3 * time.Second, 3}, {3999 * time.Millisecond, 3}, {8 * time.Second, 8}, {time.Hour, 8}} {
		testkit.Bubble(t, row.bound.String(), func(t *testing.T) {
			g := inBubble(t, cached.Config{MaxAhead: row.bound})
			if s := g.Stats(); s.Remaining != row.blocks*16 || s.Ahead != time.Duration(row.blocks)*time.Second {
				t.Errorf("%d IDs, the newest %v ahead, want %d, %ds", s.Remaining, s.Ahead, row.blocks*16, row.blocks)
			}
		})
	}
}

func TestTooFarAheadSaysByHowMuchAndHowLong(t *testing.T) {
	for _, row := range []struct {
		into, bound time.Duration
		want        cached.AheadError
		says        string
	}{
		{0, 3 * time.Second, cached.AheadError{Ahead: 4 * time.Second, Max: 3 * time.Second, RetryIn: time.Second}, "by 4s, allowed: 3s"},
		// "by 1.1s, allowed: 1.5s" would make no sense.
		{900 * time.Millisecond, 1500 * time.Millisecond, cached.AheadError{Ahead: 1100 * time.Millisecond, Max: time.Second, RetryIn: 100 * time.Millisecond},
			"by 1.1s, allowed: 1s"},
	} {
		eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
			time.Sleep(row.into)
			g := inBubble(t, cached.Config{MaxAhead: row.bound, OnEmpty: policy})
			drain(t, g)
			_, err := g.Next()
			ahead, ok := errors.AsType[*cached.AheadError](err)
			if !ok || *ahead != row.want || !errors.Is(err, cached.ErrTooFarAhead) || !strings.Contains(err.Error(), row.says) ||
				errors.Is(err, cached.ErrEmpty) != (policy == cached.Reject) {
				t.Fatalf("Next = %v, want %+v, with ErrEmpty under Reject", err, row.want)
			}
		})
	}
}

func TestLongLeadIsAWarningOnce(t *testing.T) {
	for _, row := range []struct {
		pause time.Duration // after each of 20 takes of a minute of IDs
		want  string        // the padding goroutine may notice it within a take
	}{
		{0, "rate=9[456]..... sustained=16"}, // in less than a millisecond
		{20 * time.Second, "rate=(4[789]|5[01]) sustained=16"},
		{time.Minute, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log testkit.Recorder
			g := inBubble(t, cached.Config{Logger: log.TextLogger()})
			for range 60 { // near the clock: does not count
				take(t, g, 16)
				time.Sleep(time.Second)
				synctest.Wait()
			}
			for range 20 {
				take(t, g, 60*16)
				synctest.Wait()
				time.Sleep(row.pause)
			}
			warnings := slices.DeleteFunc(log.Read(), func(line string) bool { return !strings.Contains(line, "ID time runs ahead") })
			if want := min(len(row.want), 1); len(warnings) != want || !regexp.MustCompile(row.want).MatchString(strings.Join(warnings, "")) {
				t.Errorf("%q, want %d with %s", warnings, want, row.want)
			}
		})
	}
}

// A lease of a worker ID that was used far ahead of the clock begins there.
func TestLeadOfALeaseIsNoWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testkit.Recorder
		g := inBubble(t, cached.Config{Logger: log.TextLogger(), Assigner: &fakeassigner.Assigner{OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: worker(), First: d.Now() + 3600, Limit: d.Now() + 7200, Guarantee: assigner.GuaranteeFenced}, nil
		}}})
		for range 60 {
			next(t, g)
			time.Sleep(time.Second)
		}
		if lines := log.Read(); len(lines) != 1 {
			t.Errorf("%q, want the worker ID alone", lines)
		}
	})
}

// TestWaitersDoNotSpin lets many goroutines wait for more IDs than the clock gives in ten units.
func TestWaitersDoNotSpin(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var rejected atomic.Int64
		g := inBubble(t, cached.Config{MaxAhead: time.Second, OnEmpty: policy, MaxStaleness: -1, Trace: cached.Trace{PutRejected: func(err error) {
			rejected.Add(1)
			if !errors.Is(err, cached.ErrTooFarAhead) {
				t.Errorf("PutRejected: %v", err)
			}
		}}})
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
		synctest.Wait()
		if n := rejected.Load(); n != g.Stats().RejectedPuts {
			t.Errorf("PutRejected was called %d times, want %d", n, g.Stats().RejectedPuts)
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
		before := g.Stats().RejectedTakes
		if id, err := g.NextContext(ctx); id != 0 || !errors.Is(err, cached.ErrTimeExhausted) || g.Stats().RejectedTakes != before+1 {
			t.Errorf("NextContext = %d, %v, want ErrTimeExhausted, and a rejected take", id, err)
		}
		time.Sleep(time.Hour) // the generator checks for blocks that are stale
	})
}
