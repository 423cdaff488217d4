package cached_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestStatsIsOfOneMoment takes IDs while Stats waits for a padding pass.
func TestStatsIsOfOneMoment(t *testing.T) {
	var reads atomic.Int64
	g := open(t, cached.Config{Layout: narrow(), MaxStaleness: -1, Now: func() time.Time {
		reads.Add(1)
		return time.Now()
	}})
	before, unlock, result := reads.Load(), g.LockPadding(), make(chan cached.Stats)
	go func() { result <- g.Stats() }()
	testkit.Until(t, "a reading of the clock by Stats", func() bool { return reads.Load() > before })
	testkit.Yield()
	take(t, g, 3)
	unlock()
	if s := <-result; s.Issued != 3 {
		t.Errorf("Issued = %d, want 3", s.Issued)
	}
}

// The blocks that New puts do not count as use, which takes three units of ID time a second here.
func TestFirstFillOfTheRingIsNoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fenced(100)}, MaxStaleness: -1})
		time.Sleep(4 * time.Second)
		for _, n := range []int{4*16 + 1, 4 * 16, 4 * 16} {
			take(t, g, n)
			synctest.Wait()
		}
		if s := g.Stats(); s.LastDelta != bubbleStart+8+12 || s.Window != 87*time.Second || s.WindowLasts.Round(time.Second) != 27*time.Second {
			t.Errorf("LastDelta %d, Window %v, WindowLasts %v, want %d, 87s, 27s", s.LastDelta, s.Window, s.WindowLasts, bubbleStart+20)
		}
	})
}
