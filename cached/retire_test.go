package cached_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// ends are the calls that retire every block of a generator, those in lanes included.
func ends() map[string]func(*cached.Generator) error {
	return map[string]func(*cached.Generator) error{
		"Close":      (*cached.Generator).Close,
		"Invalidate": func(g *cached.Generator) error { g.Invalidate(); return nil },
	}
}

// checkAfterEnd asks that a call which begins after the end gets an error, or an ID of another
// worker ID.
func checkAfterEnd(t *testing.T, g *cached.Generator, before int64, take func() (int64, error)) {
	t.Helper()
	id, err := take()
	if errors.Is(err, cached.ErrClosed) || errors.Is(err, cached.ErrLeaseExhausted) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if f := parse(t, g, id); f.WorkerID == before {
		t.Errorf("%v after the end of worker ID %d", f, before)
	}
}

// TestALaneWithTheNewestBlockIsRetired uses all of a grant of two units, so that a lane holds the
// last block composed.
func TestALaneWithTheNewestBlockIsRetired(t *testing.T) {
	for name, lanes := range map[string]int{"own": 0, "of CPUs": 2} {
		for end, call := range ends() {
			bubble.Run(t, name+"/"+end, func(t *testing.T) {
				g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fenced(2)}, BoostPower: 1, Lanes: lanes, MaxStaleness: -1})
				take := g.Next
				if lanes == 0 {
					take = g.Lane().Next
				} else {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single lane is in use
				}
				before := g.WorkerID()
				for range 16 + 1 {
					if _, err := take(); err != nil {
						t.Fatal(err)
					}
				}
				if err := call(g); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				checkAfterEnd(t, g, before, take)
			})
		}
	}
}

// TestABlockRetiredOnItsWayToALane stalls the owner of a lane in the middle of Next, with a block
// that is then retired.
func TestABlockRetiredOnItsWayToALane(t *testing.T) {
	for end, call := range ends() {
		for name, at := range map[string]int{"not begun": cached.LaneHasTaken, "limit published": cached.LaneHasPublished} {
			bubble.Run(t, end+"/"+name, func(t *testing.T) {
				put := int64(0)
				g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1, Trace: cached.Trace{
					Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
				}})
				lane, before, stalls := g.Lane(), g.WorkerID(), 0
				g.Pause(func(step int) {
					if step != at || stalls > 0 {
						return
					}
					stalls++
					if err := call(g); err != nil {
						t.Error(err)
					}
					synctest.Wait()
				})
				checkAfterEnd(t, g, before, lane.Next)
				if stalls != 1 {
					t.Errorf("%d stalls, want 1", stalls)
				}
				lane.Close()
				checkSum(t, g.Stats(), put, map[string]int64{"Invalidate": 1}[end])
			})
		}
	}
}

// TestABlockOfOneIDRetiredOnItsWayToALane has cut at the only ID of the block.
func TestABlockOfOneIDRetiredOnItsWayToALane(t *testing.T) {
	for end, call := range ends() {
		bubble.Run(t, end, func(t *testing.T) {
			layout := narrow()
			layout.SequenceBits = 0
			g := inBubble(t, cached.Config{Layout: layout, Assigner: &fakeassigner.Assigner{OnAssign: fenced(2)}, BoostPower: 1, MaxStaleness: -1})
			lane, before := g.Lane(), g.WorkerID()
			laneNext(t, lane)
			g.Pause(func(step int) {
				if step == cached.LaneHasPublished {
					if err := call(g); err != nil {
						t.Error(err)
					}
				}
			})
			checkAfterEnd(t, g, before, lane.Next)
		})
	}
}

// TestRetirementIsMarkedBeforeLanesAreVisited keeps the lanes from being visited. Generator.cut
// must be raised meanwhile: an owner that begins a block after the visit would miss a later cut.
func TestRetirementIsMarkedBeforeLanesAreVisited(t *testing.T) {
	g := open(t, cached.Config{Layout: narrow(), Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1})
	before, unlock, done := g.Cut(), g.LockLanes(), make(chan struct{})
	go func() {
		defer close(done)
		g.Invalidate()
	}()
	const patience = 10 * time.Second // a retirement that waits for the lanes first never ends
	for start := time.Now(); g.Cut() == before && time.Since(start) < patience; {
		runtime.Gosched()
	}
	if g.Cut() == before {
		t.Error("cut is not raised while lanes wait for their visit")
	}
	unlock()
	<-done
}

// TestNoIDOfACallAfterClose spins a lane across Close, beside so many others that visiting them
// takes a while.
func TestNoIDOfACallAfterClose(t *testing.T) {
	for name, row := range map[string]struct {
		lanes, handles int
		bits           uint8
	}{
		"own lane, blocks of 4":            {0, 300, 2},
		"own lane, blocks of 8,192":        {0, 300, 13},
		"lanes of CPUs, blocks of 4":       {1024, 0, 2},
		"lanes of CPUs, blocks of 8,192":   {1024, 0, 13},
		"lanes of both kinds, blocks of 4": {1024, 300, 2},
	} {
		t.Run(name, func(t *testing.T) {
			layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: row.bits}
			for range scaled(1000) {
				spinAcrossClose(t, cached.Config{Layout: layout, Lanes: row.lanes, BoostPower: 6, Assigner: &fakeassigner.Assigner{OnAssign: freshFar}, MaxStaleness: -1}, row.handles)
			}
		})
	}
}

func spinAcrossClose(t *testing.T, cfg cached.Config, handles int) {
	t.Helper()
	g := open(t, cfg)
	take := g.Next
	if handles > 0 {
		take = g.Lane().Next
	}
	for range handles {
		g.Lane()
	}
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
