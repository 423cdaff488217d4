package cached_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// TestStatsBesideAStalledLane has the owner of a lane stall between its look at the limit and its
// store, while its block is retired. The counters must not run ahead of the facts, since they never
// go down.
func TestStatsBesideAStalledLane(t *testing.T) {
	for _, taken := range []int{1, 5, 15} {
		t.Run(fmt.Sprint(taken, " taken"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				put := int64(0)
				g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1, Trace: cached.Trace{
					Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
				}})
				lane := g.Lane()
				for range taken {
					laneNext(t, lane)
				}
				resume := lane.StallInNext()
				g.Invalidate()
				synctest.Wait()
				checkSum(t, g.Stats(), put, int64(taken))
				resume()
				checkSum(t, g.Stats(), put, int64(taken+1))
				laneNext(t, lane)
				s := g.Stats()
				checkSum(t, s, put, int64(taken+2))
				skipped := (taken + 1) % 16 // where the lane goes on in the next block
				if want := int64(8*16 - taken - 1 + skipped); s.Retired != want {
					t.Errorf("Retired = %d, want %d", s.Retired, want)
				}
			})
		})
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
