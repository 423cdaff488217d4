package cached_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestCloseWaitsForThePaddingGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{OnEmpty: cached.Reject, MaxStaleness: -1, Trace: cached.Trace{Padded: holdSecond(gate)}})
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
		waits, wait := testkit.Waits(func() { call(g) })
		if !waits {
			t.Errorf("%s has returned in the middle of a padding pass", name)
		}
		unlock()
		wait()
	}
}

// TestLaneIssuesNothingAfterClose spins a lane across Close.
func TestLaneIssuesNothingAfterClose(t *testing.T) {
	for range scaled(1000) {
		g := open(t, cached.Config{Layout: narrow(), BoostPower: 6, Assigner: &fakeassigner.Assigner{}, MaxStaleness: -1})
		take := g.Lane().Next
		var closed atomic.Bool
		spinning, late := make(chan struct{}), make(chan int)
		go func() {
			n := 0
			for i := 0; ; i++ {
				if i == 100 {
					close(spinning)
				}
				after := closed.Load()
				if _, err := take(); err == nil && after {
					n++
				} else if after {
					break
				}
			}
			late <- n
		}()
		<-spinning
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		if n := <-late; n > 0 {
			t.Errorf("%d IDs of calls that began after Close", n)
		}
	}
}
