package cached_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// usedUp takes IDs, of one worker and in order, until there is no lease for more.
func usedUp(t *testing.T, g *cached.Generator) (last bitsalloc.Fields, n int) {
	t.Helper()
	for {
		id, err := g.Next()
		switch {
		case errors.Is(err, cached.ErrLeaseExhausted):
			return last, n
		case errors.Is(err, cached.ErrEmpty):
			synctest.Wait()
			continue
		case err != nil:
			t.Fatal(err)
		}
		f := parse(t, g, id)
		if n > 0 && (f.ID <= last.ID || f.WorkerID != last.WorkerID) {
			t.Fatalf("%v after %v", f, last)
		}
		last = f
		n++
	}
}

// IDs that are prepared above a limit that the lease has lowered are dropped.
func TestLimitThatALossHasLoweredIsRespected(t *testing.T) {
	for name, row := range map[string]struct{ limit, ids int64 }{
		"above the prepared IDs": {bubbleStart + 20, 20*16 - 1},
		"below the prepared IDs": {bubbleStart + 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, lanes := range []int{0, 1} {
				store := &fakeassigner.Assigner{}
				store.OnAssign = func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
					if n > 1 {
						return assigner.Grant{}, errors.New("store is down")
					}
					return fenced(100)(ctx, n, d)
				}
				store.OnRenew = func(_ context.Context, g *assigner.Grant, _, _ int64) error {
					g.Limit = row.limit
					return assigner.ErrWorkerRowLost
				}
				synctest.Test(t, func(t *testing.T) {
					g := inBubble(t, cached.Config{Assigner: store, MaxStaleness: -1})
					take := g.Next
					if lanes > 0 {
						take = g.Lane().Next
					}
					if _, err := take(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					n := int64(0)
					for {
						id, err := take()
						if errors.Is(err, cached.ErrLeaseExhausted) {
							break
						}
						if f := parse(t, g, id); err != nil || f.Delta > row.limit {
							t.Fatalf("%v, %v, want no delta above %d", f, err, row.limit)
						}
						n++
					}
					if n != row.ids {
						t.Errorf("%d IDs after the loss, want %d", n, row.ids)
					}
				})
			}
		})
	}
}

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

// The store answers after a padding pass was refused, and before the padding goroutine waits.
func TestGrantAtTheEndOfAPassIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals, answer := 0, make(chan struct{})
		store := &fakeassigner.Assigner{OnAssign: fenced(3), OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			<-answer
			return fakeassigner.Raise(ctx, g, used, want)
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: cached.Reject, MaxStaleness: -1, AssignTimeout: time.Minute, Trace: cached.Trace{
			PutRejected: func(error) {
				refusals++
				close(answer)
				time.Sleep(time.Second)
			},
		}})
		drain(t, g)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := g.Stats(); s.Remaining != 8*16 || s.RejectedPuts != 1 || refusals != 1 {
			t.Errorf("%d IDs after %d refusals, of which Stats counts %d; want a full ring after 1", s.Remaining, refusals, s.RejectedPuts)
		}
	})
}

// Callers go on with the sequence number after the last one, after any number of passes that put no
// block, and lose no other ID by that.
func TestSequenceGoesOnAfterAnOutage(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var down atomic.Bool
		store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
			if down.Load() {
				return assigner.Grant{}, errors.New("store is down")
			}
			return fresh(ctx, n, d)
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy})
		take(t, g, 5)
		down.Store(true)
		g.Invalidate()
		for range 3 {
			time.Sleep(time.Minute)
			if _, err := g.Next(); !errors.Is(err, cached.ErrLeaseExhausted) {
				t.Fatalf("Next = %v, want ErrLeaseExhausted", err)
			}
		}
		down.Store(false)
		id, err := g.NextContext(t.Context())
		if f := parse(t, g, id); err != nil || f.Sequence != 5 {
			t.Errorf("%v, %v, want sequence number 5", f, err)
		}
		synctest.Wait()
		take(t, g, 10+3*16) // the rest of four blocks
		retired := g.Stats().Retired
		time.Sleep(20 * time.Second) // the generator checks for stale blocks
		synctest.Wait()
		if s := g.Stats(); s.Retired != retired || s.Remaining != 8*16 {
			t.Errorf("Retired %d after %d, Remaining %d, want no further ID dropped and a full ring", s.Retired, retired, s.Remaining)
		}
	})
}

// TestFenceIsRaisedBeforeItIsReached: with a store that answers, a window of 30 units is never
// felt, whether the generator is idle, keeps pace with the clock or runs far ahead of it.
func TestFenceIsRaisedBeforeItIsReached(t *testing.T) {
	for name, load := range map[string]struct {
		ids   int // at a time, of 16 a unit
		pause time.Duration
	}{
		"one an hour":         {1, time.Hour},
		"one every 50 s":      {1, 50 * time.Second},
		"the pace of clock":   {16, time.Second},
		"ten times the clock": {160, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				const window = 30
				store := &fakeassigner.Assigner{
					OnAssign: fenced(window + 8),
					OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
						g.Limit = max(g.Limit, want+window)
						return nil
					},
				}
				g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy})
				for range 50 {
					for range load.ids {
						if _, err := g.NextContext(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(load.pause)
					if _, err := g.Next(); err != nil {
						t.Fatalf("after a pause: %v", err)
					}
				}
				if s := g.Stats(); s.Window <= 0 || s.Window > (window+8)*time.Second*2 {
					t.Errorf("Window = %v, want about %d s", s.Window, window)
				}
				if s := g.Stats(); s.RejectedPuts > 0 {
					t.Errorf("%d passes reached the fence, want none", s.RejectedPuts)
				}
			})
		})
	}
}
