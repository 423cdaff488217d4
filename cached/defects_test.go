package cached_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The tests of this file are the defects that Baidu's UidGenerator is known for, with the numbers
// of its issues. Other tests show more of them: TestEveryIDIsIssuedOnce (two callers get one ID
// when the ring runs empty: 105, 26), TestNoIDLiesAboveTheFence (a refused pass burns a second: 96,
// 42), TestNoIDIsStalerThanMaxStaleness (an ID has the time of the last padding: 8, 89, 97, 85),
// TestWaitersDoNotSpin (a busy generator is hours ahead within minutes: the same), TestConformance
// (the default layout ended in November 2024: 100, 29; threads outlive destroy()).

// Issues 96, 42: a padding pass that finds the ring full burns a second.
func TestFullRingBurnsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{ScheduleInterval: time.Millisecond, MaxStaleness: -1})
		before := g.Stats()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if after := g.Stats(); after.LastDelta != before.LastDelta || after.PaddingPasses != before.PaddingPasses {
			t.Errorf("10,000 looks at a full ring moved the newest delta from %d to %d, in %d passes",
				before.LastDelta, after.LastDelta, after.PaddingPasses-before.PaddingPasses)
		}
	})
}

// Issue 90: an empty ring is an error, and a handler of the user's cannot mend it. Here the caller
// pads, unless the user has chosen an error, which says so. The padding goroutine is held up
// meanwhile, and Close waits for it.
func TestEmptyRingIsPaddedInlineUnlessTheUserChoosesAnError(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{OnEmpty: policy, MaxStaleness: -1, Trace: cached.Trace{Padded: holdSecond(gate)}})
		take(t, g, 4*16+1)
		synctest.Wait()
		n, err := g.Fill(make([]int64, 8*16-1+100*16)) // the full ring, and a hundred blocks
		s := g.Stats()
		padded := n == 8*16-1+100*16 && err == nil && s.InlinePads == 100 && s.PaddingPasses == 2+100 && s.RejectedTakes == 0
		refused := n == 8*16-1 && err == cached.ErrEmpty && s.InlinePads == 0 && s.RejectedTakes == 1 // nothing else is wrong
		if policy == cached.Reject && !refused || policy == cached.PadInline && !padded {
			t.Errorf("Fill = %d, %v, then %+v", n, err, s)
		}
		if policy == cached.Reject { // which passes, as the other reasons do
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := g.NextContext(ctx); !errors.Is(err, cached.ErrEmpty) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("NextContext = %v, want ErrEmpty at the end of its context", err)
			}
		}
		var closed atomic.Bool
		go func() {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			closed.Store(true)
		}()
		synctest.Wait()
		if closed.Load() {
			t.Error("Close has returned while the padding goroutine was at work")
		}
		close(gate)
		synctest.Wait()
		if got := g.Stats().RejectedPuts; got != s.RejectedPuts {
			t.Errorf("RejectedPuts %d, want %d: Close refuses the last pass", got, s.RejectedPuts)
		}
	})
}

// Issue 78: three lines are logged at every padding.
func TestNoLogOnTheWayOfAnID(t *testing.T) {
	var log testkit.Recorder
	take(t, open(t, cached.Config{Layout: bitsalloc.Default(), Logger: log.Logger()}), 1_000_000)
	if lines := log.Read(); len(lines) != 1 || !strings.Contains(lines[0], "worker ID assigned") {
		t.Errorf("New and IDs log %q, want the worker ID alone", lines)
	}
}
