package cached_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/together"
)

func TestCloseWaitsForThePaddingGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{OnEmpty: cached.Reject, MaxStaleness: -1, Trace: cached.Trace{Padded: func(p cached.PaddedInfo) {
			if p.LastDelta > bubbleStart+8 { // not by New
				<-gate
			}
		}}})
		take(t, g, 4*16+1)
		synctest.Wait() // the padding goroutine waits in Padded
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
	})
}

// A padding pass in progress may use the worker ID.
func TestPaddingPassIsWaitedFor(t *testing.T) {
	for name, call := range map[string]func(*cached.Generator){
		"Invalidate": (*cached.Generator).Invalidate,
		"Used":       func(g *cached.Generator) { g.Used() },
	} {
		g := open(t, cached.Config{Layout: narrow(), Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1})
		unlock := g.LockPadding()
		waits, wait := together.Waits(func() { call(g) })
		if !waits {
			t.Errorf("%s has returned in the middle of a padding pass", name)
		}
		unlock()
		wait()
	}
}
