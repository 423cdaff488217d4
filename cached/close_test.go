package cached_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/cached"
)

func TestCloseDropsTheRing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{OnEmpty: policy})
		next(t, g)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if s := g.Stats(); s.Issued != 1 || s.Remaining != 0 || s.Retired != 8*16-1 {
			t.Errorf("Stats = %+v, want 1 issued, 127 retired, none remaining", s)
		}
	})
}

func TestCloseWaitsForThePaddingGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: func(p cached.PaddedInfo) {
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
		synctest.Wait()
		if !closed.Load() {
			t.Error("Close has not returned")
		}
	})
}
