package cached_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

func TestNoIDLiesAboveTheFence(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var wanted atomic.Int64
		store := &fakeassigner.Assigner{OnAssign: fenced(5), OnRenew: func(_ context.Context, _ *assigner.Grant, used, want int64) error {
			wanted.Store(max(wanted.Load(), want))
			if used != bubbleStart+5 {
				t.Errorf("Renew with used %d, want %d", used, bubbleStart+5)
			}
			return nil // and the fence stays where it is
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		unlock := g.LockPadding() // a pass in the middle would ask for less, and the store refuses it
		ids := take(t, g, 5*16)
		unlock()
		if last := parse(t, g, ids[len(ids)-1]); last.Delta != bubbleStart+5 {
			t.Fatalf("the last of 5 blocks ends with %v", last)
		}
		for range 3 {
			if _, err := g.Next(); !errors.Is(err, cached.ErrLeaseExhausted) {
				t.Fatalf("Next = %v, want ErrLeaseExhausted", err)
			}
			synctest.Wait()
		}
		if got := g.Stats().LastDelta; got != bubbleStart+5 {
			t.Errorf("refused passes moved the newest delta to %d", got)
		}
		if wanted := wanted.Load(); wanted < bubbleStart+8 || wanted > bubbleStart+5+8 {
			t.Errorf("Renew was asked for %d, want the delta that the free slots need, %d to %d", wanted, bubbleStart+8, bubbleStart+5+8)
		}
	})
}

// TestFenceIsRaisedBeforeItIsReached: with a store that answers, a window of 30 units is never
// felt, whether the generator is idle, keeps pace with the clock or runs far ahead of it.
func TestFenceIsRaisedBeforeItIsReached(t *testing.T) {
	for _, load := range []struct {
		ids   int // at a time, of 16 a unit
		pause time.Duration
	}{{1, 50 * time.Second}, {16, time.Second}, {64, time.Second}} {
		eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
			const window = 30
			store := &fakeassigner.Assigner{OnAssign: fenced(window + 8), OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
				g.Last = max(g.Last, want+window)
				return nil
			}}
			g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy})
			for range 50 {
				for range load.ids {
					next(t, g)
				}
				time.Sleep(load.pause)
				synctest.Wait()
			}
			if s := g.Stats(); s.Window <= 0 || s.Window > (window+8)*time.Second*2 || s.RejectedPuts > 0 {
				t.Errorf("Window %v, %d refused passes, want about %d s and none", s.Window, s.RejectedPuts, window)
			}
		})
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
		time.Sleep(30 * time.Second) // the clock passes the IDs of the ring, which do not become stale
		if s := g.Stats(); s.Window != 66*time.Second {
			t.Errorf("Window %v of an idle generator, want 66s", s.Window)
		}
	})
}
