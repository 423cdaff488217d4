package cached_test

import (
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// TestCountersOfStatsNeverGoDown looks while IDs are taken in every way, and lanes come and go. To
// a monitoring system, a counter that goes down has begun anew.
func TestCountersOfStatsNeverGoDown(t *testing.T) {
	for _, lanes := range []int{1, 2, cached.LanePerCPU} {
		g := open(t, cached.Config{
			Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 17, SequenceBits: 6, Unit: time.Millisecond}, // short runs
			Lanes:  lanes,
		})
		done := make(chan struct{})
		var takers sync.WaitGroup
		var mu sync.Mutex
		taken := int64(0)
		for i := range 4 {
			takers.Go(func() {
				n := int64(0)
				for stop := false; !stop; {
					take, end := g.Next, func() {}
					if i == 0 {
						lane := g.Lane()
						take, end = lane.Next, lane.Close
					}
					for range 1000 {
						if _, err := take(); err == nil {
							n++
						}
					}
					end()
					select {
					case <-done:
						stop = true
					default:
					}
				}
				mu.Lock()
				defer mu.Unlock()
				taken += n
			})
		}
		last := g.Stats()
		for range max(scaled(20_000), 5_000) {
			s := g.Stats()
			if s.Issued < last.Issued || s.Retired < last.Retired || s.Retired > 1e12 {
				t.Errorf("%d lanes: Stats %+v after %+v", lanes, s, last)
				break
			}
			last = s
		}
		close(done)
		takers.Wait()
		if s := g.Stats(); s.Issued != taken {
			t.Errorf("%d lanes: Issued %d, but %d IDs were returned", lanes, s.Issued, taken)
		}
	}
}
