package cached_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/together"
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
	poll.Until(t, "a reading of the clock by Stats", func() bool { return reads.Load() > before })
	together.Yield()
	take(t, g, 3)
	unlock()
	if s := <-result; s.Issued != 3 {
		t.Errorf("Issued = %d, want 3", s.Issued)
	}
}

// TestCountersOfStatsNeverGoDown looks while IDs are taken. To a monitoring system, a counter that
// goes down has begun anew.
func TestCountersOfStatsNeverGoDown(t *testing.T) {
	g := open(t, cached.Config{
		Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 17, SequenceBits: 2, Unit: time.Millisecond}, // short blocks
	})
	var begun, taken atomic.Int64
	var stop atomic.Bool
	var takers sync.WaitGroup
	for range 4 {
		takers.Go(func() {
			for !stop.Load() {
				begun.Add(1)
				if _, err := g.Next(); err == nil {
					taken.Add(1)
				}
			}
		})
	}
	last := g.Stats()
	for range max(scaled(20_000), 5_000) {
		s := g.Stats()
		if n := begun.Load(); s.Issued < last.Issued || s.Issued > n || s.Retired < last.Retired || s.Retired > 1e12 {
			t.Errorf("Stats %+v after %+v and %d calls", s, last, n)
			break
		}
		last = s
	}
	stop.Store(true)
	takers.Wait()
	if s := g.Stats(); s.Issued != taken.Load() {
		t.Errorf("Issued %d, but %d IDs were returned", s.Issued, taken.Load())
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
