package cached_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/together"
)

// TestStatsBesideAStalledLane has the owner of a lane stall between its look at the limit and its
// store, while its block is retired. The counters must not run ahead of the facts, since they never
// go down.
func TestStatsBesideAStalledLane(t *testing.T) {
	for _, taken := range []int{1, 5, 15} {
		bubble.Run(t, fmt.Sprint(taken, " taken"), func(t *testing.T) {
			put := int64(0)
			g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1, Trace: cached.Trace{
				Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
			}})
			lane := g.Lane()
			for range taken {
				laneNext(t, lane)
			}
			g.Invalidate()
			synctest.Wait()
			checkSum(t, g.Stats(), put, int64(taken))
			lane.FinishNext()
			checkSum(t, g.Stats(), put, int64(taken+1))
			laneNext(t, lane)
			s := g.Stats()
			checkSum(t, s, put, int64(taken+2))
			skipped := (taken + 1) % 16 // where the lane goes on in the next block
			if want := int64(8*16 - taken - 1 + skipped); s.Retired != want {
				t.Errorf("Retired = %d, want %d", s.Retired, want)
			}
		})
	}
}

// TestABlockOnItsWayToALaneRemains looks before the block leaves the ring, and when it is in the
// ring no more and in the lane not yet.
func TestABlockOnItsWayToALaneRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{MaxStaleness: -1})
		lane := g.Lane()
		remaining := make(map[int]int)
		g.Pause(func(step int) {
			if step == cached.LaneTakes || step == cached.LaneHasTaken {
				remaining[step] = g.Stats().Remaining
			}
		})
		laneNext(t, lane)
		if remaining[cached.LaneTakes] != 9*16 || remaining[cached.LaneHasTaken] != 8*16 {
			t.Errorf("Remaining by step: %v, want 144 before the lane takes the block, since it is counted twice, and then 128", remaining)
		}
		checkSum(t, g.Stats(), 8*16, 1)
	})
}

// TestStatsWaitForTheOwnerOfALane to change all words that belong together, if the change begins
// before or after Stats has looked for one.
func TestStatsWaitForTheOwnerOfALane(t *testing.T) {
	for _, early := range []bool{true, false} {
		g := open(t, cached.Config{Layout: narrow(), MaxStaleness: -1})
		lane := g.Lane()
		laneNext(t, lane)
		var begin sync.Once
		var end func()
		change := func() { begin.Do(func() { end = lane.Change() }) }
		if early {
			change()
		}
		g.Pause(func(step int) {
			if step == cached.LaneIsCounted {
				change()
			}
		})
		waits, wait := together.Waits(func() { g.Stats() })
		if !waits {
			t.Error("Stats has returned in the middle of a change")
		}
		change()
		end()
		wait()
	}
}

// Stats reads the user's clock under no lock.
func TestStatsReadsTheClockBeforeItWaits(t *testing.T) {
	var g *cached.Generator
	reads := 0
	g = open(t, cached.Config{Layout: narrow(), MaxStaleness: -1, Now: func() time.Time {
		if reads++; g != nil && g.PaddingLocked() {
			t.Error("the clock is read under the lock of padding")
		}
		return time.Now()
	}})
	before := reads
	if g.Stats(); reads != before+1 {
		t.Errorf("%d readings of the clock, want 1", reads-before)
	}
}

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

// TestStatsCountsTheRingBeforeTheLanes has a lane take a block while Stats waits for another lane.
// Counted in the ring alone, all IDs of that block would be issued.
func TestStatsCountsTheRingBeforeTheLanes(t *testing.T) {
	g := open(t, cached.Config{Layout: narrow(), Lanes: 2, MaxStaleness: -1})
	lane := g.Lane()
	laneNext(t, lane)
	change, result := lane.Change(), make(chan cached.Stats)
	go func() { result <- g.Stats() }()
	together.Yield()
	next(t, g)
	change()
	if s := <-result; s.Issued > 2 {
		t.Errorf("Issued = %d, want at most 2", s.Issued)
	}
}

// TestStatsBesideARefusedCall looks at Stats all the time while a lane refuses a call. Such a call
// must never count as an ID.
func TestStatsBesideARefusedCall(t *testing.T) {
	var current atomic.Pointer[cached.Generator]
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-done:
				return
			default:
			}
			if g := current.Load(); g != nil {
				g.Stats()
			}
		}
	}()
	defer func() {
		close(done)
		<-watched
	}()
	for range scaled(20_000) {
		var put atomic.Int64
		g, err := cached.New(cached.Config{Layout: narrowFar(), BoostPower: 1, Assigner: &fakeassigner.Assigner{OnAssign: freshFar}, MaxStaleness: -1,
			Trace: cached.Trace{Padded: func(p cached.PaddedInfo) { put.Add(int64(p.Blocks) * 16) }}})
		if err != nil {
			t.Fatal(err)
		}
		lane := g.Lane()
		laneNext(t, lane)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		current.Store(g)
		runtime.Gosched()
		if _, err := lane.Next(); !errors.Is(err, cached.ErrClosed) {
			t.Fatalf("Next after Close: %v", err)
		}
		if s := g.Stats(); s.Issued != 1 || s.Retired != put.Load()-1 || s.Retiring != 0 || s.Remaining != 0 {
			t.Fatalf("Stats = %+v, want 1 issued and the rest of %d retired", s, put.Load())
		}
	}
}

// narrowFar is narrow with more worker IDs.
func narrowFar() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: 4}
}

// TestCountersOfStatsNeverGoDown looks while IDs are taken in every way, and lanes come and go. To
// a monitoring system, a counter that goes down has begun anew.
func TestCountersOfStatsNeverGoDown(t *testing.T) {
	for _, lanes := range []int{1, 2, cached.LanePerCPU} {
		g := open(t, cached.Config{
			Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 17, SequenceBits: 2, Unit: time.Millisecond}, // short blocks
			Lanes:  lanes,
		})
		done := make(chan struct{})
		var takers sync.WaitGroup
		var mu sync.Mutex
		taken := int64(0)
		var begun atomic.Int64
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
						begun.Add(1)
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
			if n := begun.Load(); s.Issued < last.Issued || s.Issued > n || s.Retired < last.Retired || s.Retired > 1e12 {
				t.Errorf("%d lanes: Stats %+v after %+v and %d calls", lanes, s, last, n)
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

// The blocks that New puts do not count as use, which takes three units of ID time a second here.
func TestTheFirstFillOfTheRingIsNoPace(t *testing.T) {
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
