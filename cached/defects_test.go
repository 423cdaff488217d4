package cached_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The tests of this file are the defects that Baidu's UidGenerator is known for, with the numbers
// of its issues. Other tests show more of them: TestEveryIDIsIssuedOnce (two callers get one ID
// when the ring runs empty: 105, 26), TestNoIDLiesAboveTheFence (a refused pass burns a second: 96,
// 42), TestNoIDIsStalerThanMaxStaleness (an ID has the time of the last padding: 8, 89, 97, 85),
// TestConformance (the default layout ended in November 2024: 100, 29; threads outlive destroy()).

// Issues 96, 42: a padding pass that finds the ring full burns a second.
func TestFullRingBurnsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{ScheduleInterval: time.Millisecond, MaxStaleness: -1})
		before := g.Stats()
		time.Sleep(time.Minute)
		synctest.Wait()
		if after := g.Stats(); after.LastDelta != before.LastDelta || after.PaddingPasses != before.PaddingPasses {
			t.Errorf("60,000 looks at a full ring moved the newest delta from %d to %d, in %d passes",
				before.LastDelta, after.LastDelta, after.PaddingPasses-before.PaddingPasses)
		}
	})
}

// Issues 8, 89, 97, 85: a busy generator is hours ahead within minutes.
func TestBusyIDsStayNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{MaxAhead: 10 * time.Second})
		ids := 0
		for start := time.Now(); time.Since(start) < 10*time.Minute; {
			id, err := g.NextContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids++
			if ahead := time.Until(parse(t, g, id).Time); ahead > 10*time.Second {
				t.Fatalf("an ID %v ahead", ahead)
			}
		}
		if want := (10+599)*16 + 1; ids != want { // the last begins the next unit
			t.Errorf("%d IDs in ten minutes, want all of their time and of MaxAhead, %d", ids, want)
		}
	})
}

// Issue 90: an empty ring is an error, and a handler of the user's cannot mend it.
func TestEmptyRingPadsInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: holdSecond(gate)}})
		take(t, g, 4*16+1)
		synctest.Wait()
		take(t, g, 8*16-1+100*16) // the full ring, and a hundred blocks
		if s := g.Stats(); s.InlinePads != 100 || s.PaddingPasses != 2+100 || s.RejectedTakes != 0 {
			t.Errorf("%+v, want 100 inline pads, 102 passes and no rejected take", s)
		}
		close(gate)
	})
}

// Issue 90, the choice: with Reject an empty ring is an error that says so, and that passes.
func TestRejectIsAChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rejected, gate := 0, make(chan struct{})
		g := inBubble(t, cached.Config{OnEmpty: cached.Reject, MaxStaleness: -1, Trace: cached.Trace{
			TakeRejected: func(error) { rejected++ },
			Padded:       holdSecond(gate),
		}})
		take(t, g, 4*16+1)
		synctest.Wait()
		n, err := g.Fill(make([]int64, 9*16))
		if n != 8*16-1 || err != cached.ErrEmpty { // nothing else is wrong
			t.Fatalf("Fill = %d, %v, want 127, ErrEmpty", n, err)
		}
		close(gate)
		synctest.Wait()
		next(t, g)
		if s := g.Stats(); s.RejectedTakes != 1 || s.InlinePads != 0 || rejected != 1 {
			t.Errorf("%+v, %d calls of TakeRejected, want one rejected take and no inline pad", s, rejected)
		}
	})
}

// A consumer that is paused stalls the producer. Here one is paused while it pads inline.
func TestPausedCallerDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, calls := make(chan struct{}), new(atomic.Int64)
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: func(int) {
			if n := calls.Add(1); n == 2 || n == 3 { // of the padding goroutine and of the caller, in any order
				<-gate
			}
		}}})
		paused := make(chan error)
		go func() {
			_, err := g.Fill(make([]int64, 100*8*16))
			paused <- err
		}()
		synctest.Wait()
		take(t, g, 100*8*16)
		close(gate)
		if err := <-paused; err != nil {
			t.Error(err)
		}
	})
}

// Issue 78: three lines are logged at every padding.
func TestNoLogOnTheWayOfAnID(t *testing.T) {
	var log testkit.Recorder
	take(t, open(t, cached.Config{Logger: log.Logger()}), 1_000_000)
	if lines := log.Read(); len(lines) != 1 || !strings.Contains(lines[0], "worker ID assigned") {
		t.Errorf("New and IDs log %q, want the worker ID alone", lines)
	}
}
