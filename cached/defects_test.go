package cached_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// The tests of this file are the defects that Baidu's UidGenerator is known for, with the numbers
// of its issues.

// Issues 105, 26: two callers get one ID when the ring runs empty. Blocks of 2 in a ring of 2 are
// empty all the time.
func TestRingRunningEmptyIssuesNoDuplicate(t *testing.T) {
	layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 17, SequenceBits: 1}
	cfg := cached.Config{Layout: layout, BoostPower: 1, OnEmpty: cached.Reject}
	stress(t, cfg, 16, scaled(200_000), nil)
}

// Issues 100, 29: the default layout and epoch ended in November 2024, and IDs have been negative
// since.
func TestEndedLayoutIsRefused(t *testing.T) {
	_, err := cached.New(cached.Config{Layout: bitsalloc.Baidu(), Epoch: time.Unix(1463673600, 0), Assigner: assigner.Static(1), AllowReuse: true})
	if !errors.Is(err, cached.ErrTimeExhausted) || !strings.Contains(err.Error(), "ends at 2024-11-20T13:24:16Z") {
		t.Errorf("New = %v, want ErrTimeExhausted and the end", err)
	}
}

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

// Issues 96, 42, likewise where the pass is refused.
func TestRefusedDeltaIsNotBurnt(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		cfg := cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fenced(3)}, ScheduleInterval: time.Millisecond, MaxStaleness: -1, OnEmpty: policy}
		g := inBubble(t, cfg)
		drain(t, g)
		before := g.Stats()
		for range 1000 {
			if _, err := g.Next(); err == nil {
				t.Fatal("an ID above the fence")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if after := g.Stats(); after.LastDelta != before.LastDelta || after.LastDelta != bubbleStart+3 {
			t.Errorf("refused passes moved the newest delta from %d to %d", before.LastDelta, after.LastDelta)
		}
	})
}

// Issues 8, 89, 97, 85: the time in an ID is the time of the last padding, however long ago.
func TestIdleIDsAreFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		for range 20 {
			time.Sleep(3 * time.Hour)
			if behind := time.Since(next(t, g).Time); behind > time.Minute || behind < -8*time.Second {
				t.Fatalf("an ID %v old", behind)
			}
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
		inline, gate := 0, make(chan struct{})
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: func(p cached.PaddedInfo) {
			switch {
			case p.Inline && p.Blocks == 1:
				inline++
			case p.LastDelta > bubbleStart+8: // not by New
				<-gate // keeps the padding goroutine from padding
			}
		}}})
		take(t, g, 4*16+1)
		synctest.Wait()
		take(t, g, 8*16-1+100*16) // the full ring, and a hundred blocks
		if s := g.Stats(); s.InlinePads != 100 || inline != 100 || s.PaddingPasses != 2+100 || s.RejectedTakes != 0 {
			t.Errorf("%+v with %d inline pads traced, want 100, 102 passes and no rejected take", s, inline)
		}
		close(gate)
	})
}

// Issue 90, the choice: with Reject an empty ring is an error that says so, and that passes.
func TestRejectIsAChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events recorder.Recorder
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{OnEmpty: cached.Reject, MaxStaleness: -1, Trace: cached.Trace{
			TakeRejected: func(err error) { events.Note("%v", err) },
			Padded: func(p cached.PaddedInfo) {
				if p.LastDelta > bubbleStart+8 { // not by New
					<-gate // keeps the padding goroutine from padding
				}
			},
		}})
		take(t, g, 4*16+1)
		synctest.Wait()
		ids := make([]int64, 9*16)
		n, err := g.Fill(ids)
		if n != 8*16-1 || err != cached.ErrEmpty { // nothing else is wrong
			t.Fatalf("Fill = %d, %v, want 127, ErrEmpty", n, err)
		}
		close(gate)
		synctest.Wait()
		next(t, g)
		if s, lines := g.Stats(), events.Read(); s.RejectedTakes != 1 || s.InlinePads != 0 || len(lines) != 1 {
			t.Errorf("RejectedTakes %d, InlinePads %d, events %q, want 1, 0 and one", s.RejectedTakes, s.InlinePads, lines)
		}
	})
}

// Padding dies for good when a func of the user's throws.
func TestPanicInTraceDoesNotStopPadding(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var log recorder.Recorder
		store := &fakeassigner.Assigner{OnAssign: fenced(3), OnRenew: fakeassigner.Raise}
		g := inBubble(t, cached.Config{Assigner: store, MaxAhead: 2 * time.Second, MaxStaleness: -1, OnEmpty: policy,
			Logger: log.Logger(),
			Trace: cached.Trace{
				Padded:        func(cached.PaddedInfo) { panic("padded") },
				PutRejected:   func(error) { panic("put") },
				TakeRejected:  func(error) { panic("take") },
				LeaseAssigned: func(assigner.Grant) { panic("lease") },
			}})
		for range 100 {
			drain(t, g)
			if _, err := g.Next(); !errors.Is(err, cached.ErrTooFarAhead) {
				t.Fatalf("Next = %v, want ErrTooFarAhead", err)
			}
			if _, err := g.NextContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		lines := strings.Join(log.Read(), "\n")
		for _, name := range []string{"Padded", "PutRejected", "TakeRejected", "LeaseAssigned"} {
			if !strings.Contains(lines, "ERROR panic in Trace."+name) {
				t.Errorf("the panic of %s was not reported", name)
			}
		}
	})
}

// After destroy() threads keep the process alive and slots stay wedged.
func TestCloseLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails by itself when a goroutine is left
		if n := goroutines(); n != 0 {
			t.Fatalf("%d goroutines before", n)
		}
		var generators []*cached.Generator
		for range 10 {
			g := inBubble(t, cached.Config{MaxAhead: time.Second, ScheduleInterval: time.Second})
			drain(t, g)
			generators = append(generators, g)
		}
		if n := goroutines(); n != 20 {
			t.Errorf("%d goroutines of 10 generators, want 2 each", n)
		}
		for _, g := range generators {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := goroutines(); n != 0 {
			t.Errorf("%d goroutines after Close", n)
		}
	})
}

// goroutines counts the goroutines that generators have started.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("cached.(*Generator).padLoop(")) + bytes.Count(stacks, []byte("keeper.(*Keeper).run("))
}

// A consumer that is paused stalls the producer. Here one is paused while it pads inline.
func TestPausedCallerDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var pausing atomic.Bool
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: func(p cached.PaddedInfo) {
			if p.Inline && !pausing.Swap(true) {
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
	var log recorder.Recorder
	g := open(t, cached.Config{Logger: log.Logger()})
	if lines := log.Read(); len(lines) != 1 || !strings.Contains(lines[0], "worker ID assigned") {
		t.Errorf("New logs %q, want the worker ID alone", lines)
	}
	take(t, g, 1_000_000)
	for range scaled(1_000_000) {
		next(t, g)
	}
	if lines := log.Read(); len(lines) != 0 {
		t.Errorf("IDs log %q", lines)
	}
}

// There is no ID type that JavaScript can hold.
func TestJavaScriptIDsStayBelow2To53(t *testing.T) {
	g := open(t, cached.Config{Layout: bitsalloc.JavaScript(), Assigner: &fakeassigner.Assigner{OnAssign: anyWorker(1023)}})
	for _, id := range take(t, g, 100_000) {
		if id >= 1<<53 {
			t.Fatalf("%d", id)
		}
	}
}
