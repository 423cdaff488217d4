package cached_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

func TestLostWorkerIDIsReplaced(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var events recorder.Recorder
		first := worker()
		store := &fakeassigner.Assigner{OnAssign: func(_ context.Context, n int, _ assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: first + int64(n) - 1, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
		}}
		worker()
		store.OnRenew = func(_ context.Context, g *assigner.Grant, _, _ int64) error {
			if g.WorkerID == first {
				return assigner.ErrWorkerRowLost
			}
			return nil
		}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, Trace: leaseEvents(&events), MaxStaleness: -1})
		before := next(t, g)
		last := g.Stats().LastDelta
		time.Sleep(time.Minute)
		synctest.Wait()
		after := next(t, g)
		if before.WorkerID != first || after.WorkerID != first+1 || g.WorkerID() != first+1 {
			t.Errorf("workers %d, then %d, want %d and the next", before.WorkerID, after.WorkerID, first)
		}
		if after.Delta <= last {
			t.Errorf("the new worker ID starts at delta %d, want above %d", after.Delta, last)
		}
		want := []string{"assigned", "lost", "assigned"}
		for i, line := range events.Read() {
			if i >= len(want) || !strings.HasPrefix(line, want[i]) {
				t.Errorf("event %d: %s, want the events %v", i, line, want)
			}
		}
		if s := g.Stats(); s.Retired != 8*16-1+1 || s.WorkerID != first+1 { // callers go on with sequence number 1
			t.Errorf("Stats = %+v, want the rest of the ring and one ID retired", s)
		}
		if n := store.Releases.Load(); n != 0 {
			t.Errorf("the lost worker ID was released")
		}
	})
}

// While no other worker ID is to be had, an unfenced ring is empty, and a grant with a fence is
// used up.
func TestALossEndsWithTheGrant(t *testing.T) {
	for name, row := range map[string]struct {
		assign fakeassigner.AssignFunc
		left   int // IDs after the loss
	}{"unfenced": {fresh, 0}, "fenced": {fenced(20), 20*16 - 1}} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				store := &fakeassigner.Assigner{}
				store.OnAssign = func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
					if n > 1 && n < 20 {
						return assigner.Grant{}, errors.New("store is down")
					}
					return row.assign(ctx, n, d)
				}
				store.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
					if store.Assigns.Load() == 1 {
						return assigner.ErrWorkerRowLost
					}
					return nil
				}
				g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
				first := next(t, g)
				for store.Assigns.Load() == 1 {
					time.Sleep(time.Second)
				}
				synctest.Wait()
				last, n := usedUp(t, g)
				if n != row.left || row.left > 0 && last.Delta != bubbleStart+20 || last.WorkerID != first.WorkerID && row.left > 0 {
					t.Fatalf("%d IDs up to %v after the loss, want %d of %v", n, last, row.left, first)
				}
				if s := g.Stats(); s.Remaining != 0 || s.Window != 0 || s.WindowLasts != 0 {
					t.Errorf("Stats = %+v, want no ID and no window", s)
				}
				id, err := g.NextContext(t.Context()) // until the store is back
				if err != nil {
					t.Fatal(err)
				}
				if f := parse(t, g, id); f.WorkerID == first.WorkerID || f.Delta <= max(first.Delta+7, last.Delta) {
					t.Errorf("%v after %v", f, last)
				}
			})
		})
	}
}

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

// IDs increase from one lease to the next, wherever the next begins and ends.
func TestIDsIncreaseFromALostLeaseToTheNext(t *testing.T) {
	const last = bubbleStart + 60 // that the first lease has
	for name, row := range map[string]struct{ first, limit, begins int64 }{
		"above":                   {last + 100, last + 200, last + 100},
		"at the next":             {last + 1, last + 200, last + 1},
		"below":                   {bubbleStart + 1, last + 200, last + 1},
		"below, and ends there":   {bubbleStart + 1, last, last + 1},
		"below, and ends earlier": {1, 2, last + 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				store := &fakeassigner.Assigner{OnRenew: fakeassigner.Raise}
				back := make(chan struct{})
				workers := []int64{0, worker() + 1, worker() - 1} // the second is the smaller number
				store.OnAssign = func(ctx context.Context, n int, _ assigner.Domain) (assigner.Grant, error) {
					g := assigner.Grant{WorkerID: workers[n], First: bubbleStart + 1, Limit: last, Guarantee: assigner.GuaranteeFenced}
					if n == 2 {
						select {
						case <-back:
						case <-ctx.Done():
							return g, ctx.Err()
						}
						g.First, g.Limit = row.first, row.limit
					}
					return g, nil
				}
				store.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
					if g.WorkerID == workers[1] {
						return assigner.ErrWorkerRowLost
					}
					return fakeassigner.Raise(ctx, g, used, want)
				}
				g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
				before, n := usedUp(t, g)
				synctest.Wait()
				if n != 60*16 || before.Delta != last || store.Assigns.Load() != 2 {
					t.Fatalf("%d IDs up to %v, want 60 units, and the lease lost", n, before)
				}
				close(back)
				after, err := g.NextContext(t.Context())
				if f := parse(t, g, after); err != nil || f.Delta != row.begins || f.WorkerID != workers[2] || f.Sequence != 0 {
					t.Errorf("%v, %v after %v, want the unit %d", f, err, before, row.begins)
				}
				synctest.Wait()
				for _, id := range take(t, g, 7*16) {
					if id <= after {
						t.Fatalf("%d after %d", id, after)
					}
					after = id
				}
			})
		})
	}
}

// A caller that waits gets an ID when the store grants the refused delta with a later renewal.
func TestAWaiterOutlastsARefusal(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		start := time.Now()
		store := &fakeassigner.Assigner{OnAssign: fenced(5), OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			if time.Since(start) < 5*time.Minute {
				return nil
			}
			return fakeassigner.Raise(ctx, g, used, want)
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		usedUp(t, g)
		_, err := g.NextContext(t.Context())
		if waited := time.Since(start); err != nil || waited < 5*time.Minute || waited > 6*time.Minute {
			t.Errorf("NextContext: %v after %v, want an ID within a minute after 5m", err, waited)
		}
	})
}

// IDs that are prepared above a limit that the lease has lowered are dropped.
func TestALimitThatALossHasLoweredIsRespected(t *testing.T) {
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

func TestFenceIsMovedBeforeTheRingIsEmpty(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		store := &fakeassigner.Assigner{OnAssign: fenced(5), OnRenew: fakeassigner.Raise}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		if got := g.Stats().Remaining; got != 8*16 {
			t.Errorf("%d IDs in the ring, want a full one: the first grant was for 5 runs", got)
		}
		for range 100 {
			take(t, g, 5*16) // one over the threshold
			synctest.Wait()
			if s := g.Stats(); s.Remaining < 3*16 || s.LastDelta > s.Limit {
				t.Fatalf("Stats = %+v, want a padded ring under the fence", s)
			}
		}
		if s := g.Stats(); s.RejectedTakes != 0 || s.WorkerID != g.WorkerID() || store.Assigns.Load() != 1 {
			t.Errorf("Stats = %+v, want one lease and no rejected take", s)
		}
	})
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
		ids := drain(t, g)
		if last := parse(t, g, ids[len(ids)-1]); len(ids) != 5*16 || last.Delta != bubbleStart+5 {
			t.Fatalf("%d IDs up to %v, want 5 runs", len(ids), last)
		}
		for range 3 {
			if _, err := g.Next(); !errors.Is(err, cached.ErrLeaseExhausted) {
				t.Fatalf("Next = %v, want ErrLeaseExhausted", err)
			}
			synctest.Wait()
		}
		if wanted := wanted.Load(); wanted < bubbleStart+8 || wanted > bubbleStart+5+8 {
			t.Errorf("Renew was asked for %d, want the delta that the free slots need, %d to %d", wanted, bubbleStart+8, bubbleStart+5+8)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := g.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cached.ErrLeaseExhausted) {
			t.Errorf("NextContext = %v, want the deadline and the reason", err)
		}
		if n := store.Renewals.Load(); n > 100 {
			t.Errorf("%d renewals in an hour, want the heartbeat", n)
		}
	})
}

func TestGeneratorGoesOnWhenTheFenceIsRaised(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var up atomic.Bool
		store := &fakeassigner.Assigner{OnAssign: fenced(3), OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			if up.Load() {
				return fakeassigner.Raise(ctx, g, used, want)
			}
			return errors.New("store is down")
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		drain(t, g)
		if _, err := g.Next(); !errors.Is(err, cached.ErrLeaseExhausted) {
			t.Fatalf("Next = %v, want ErrLeaseExhausted", err)
		}
		time.Sleep(10 * time.Minute)
		up.Store(true)
		time.Sleep(10 * time.Second) // the longest delay between two tries
		synctest.Wait()
		if got := g.Stats().Remaining; got != 8*16 {
			t.Errorf("%d IDs in the ring, want a full one without a take", got)
		}
		if f := next(t, g); f.Delta != bubbleStart+4 {
			t.Errorf("%v, want the delta after the old fence", f)
		}
	})
}

func TestInvalidateDropsTheRingAndTakesAnotherWorkerID(t *testing.T) {
	for name, assign := range map[string]fakeassigner.AssignFunc{
		"unfenced": fresh, "fenced": fenced(1000),
	} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				store := &fakeassigner.Assigner{OnAssign: assign, OnRenew: fakeassigner.Raise}
				g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
				before := next(t, g)
				last := g.Stats().LastDelta
				g.Invalidate()
				synctest.Wait()
				after := next(t, g)
				if after.WorkerID == before.WorkerID || after.Delta <= last {
					t.Errorf("%v after %v, want another worker and a delta above %d", after, before, last)
				}
				if s := g.Stats(); s.Retired != 8*16-1+1 { // callers go on with sequence number 1
					t.Errorf("Retired = %d, want the rest of the ring and one ID", s.Retired)
				}
				if n := store.Releases.Load(); n != 0 {
					t.Error("the old worker ID was released: a copy of the process may be using it")
				}
			})
		})
	}
}

// A worker ID from configuration is the only one there is: it is taken again, and its deltas go on.
func TestInvalidateTakesAStaticWorkerIDAgain(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{OnEmpty: policy, MaxStaleness: -1})
		before, last := next(t, g), g.Stats().LastDelta
		g.Invalidate()
		synctest.Wait()
		if f := next(t, g); f.WorkerID != before.WorkerID || f.Delta != last+1 {
			t.Errorf("%v after %v, want the same worker and delta %d", f, before, last+1)
		}
	})
}

func TestInvalidateSaysWhyThereIsNoID(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
			if n > 1 {
				<-ctx.Done()
				return assigner.Grant{}, ctx.Err()
			}
			return fresh(ctx, n, d)
		}}
		g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		g.Invalidate()
		if _, err := g.Next(); !errors.Is(err, cached.ErrLeaseExhausted) {
			t.Errorf("Next = %v, want ErrLeaseExhausted", err)
		}
	})
}

func TestOneWorkerIDOneGenerator(t *testing.T) {
	cfg := cached.Config{Assigner: assigner.Static(worker()), AllowReuse: true}
	open(t, cfg)
	if _, err := cached.New(cfg); !errors.Is(err, assigner.ErrWorkerInUse) {
		t.Errorf("a second generator: %v, want ErrWorkerInUse", err)
	}
	cfg.DatacenterID = 1
	open(t, cfg)
}

func TestSuccessorStartsAboveItsPredecessor(t *testing.T) {
	for _, units := range []int{0, 10, 5000} { // ahead of the clock
		synctest.Test(t, func(t *testing.T) {
			cfg := cached.Config{Assigner: assigner.Static(worker()), AllowReuse: true}
			first := inBubble(t, cfg)
			if units > 0 {
				take(t, first, units*16)
			}
			synctest.Wait()
			last := first.Stats().LastDelta
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := inBubble(t, cfg)
			if f := next(t, second); f.Delta != last+1 || f.Sequence != 0 {
				t.Errorf("the successor starts with %v, want delta %d", f, last+1)
			}
		})
	}
}

// A store of the user's may answer anything.
func TestBadAnswersOfAStoreAreErrors(t *testing.T) {
	grant := assigner.Grant{WorkerID: worker(), First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}
	for name, row := range map[string]struct {
		assign fakeassigner.AssignFunc
		want   string
	}{
		"panic": {func(context.Context, int, assigner.Domain) (assigner.Grant, error) { panic("ouch") }, "ouch"},
		"negative": {func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			g := grant
			g.WorkerID = -1
			return g, nil
		}, "-1 from"},
		"too large": {func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			g := grant
			g.WorkerID = 1 << 17
			return g, nil
		}, "131072 from"},
		"beyond the end": {func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			g := grant
			g.First = 1 << 28
			return g, nil
		}, "used up"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
				store := &fakeassigner.Assigner{OnAssign: row.assign}
				_, err := cached.New(cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), Assigner: store})
				if err == nil || !strings.Contains(err.Error(), row.want) || !strings.HasPrefix(err.Error(), "cached: ") {
					t.Errorf("New = %v, want an error that says %q", err, row.want)
				}
				if n := store.Releases.Load(); n != 1 && name != "panic" {
					t.Errorf("released %d times, want once", n)
				}
			})
		})
	}
}

type noLease struct{ typed bool }

func (a noLease) Assign(context.Context, assigner.Domain) (assigner.Lease, error) {
	if a.typed {
		return (*fakeassigner.Lease)(nil), nil
	}
	return nil, nil
}

func TestNilLeaseIsAnError(t *testing.T) {
	for _, a := range []noLease{{}, {typed: true}} {
		if _, err := cached.New(cached.Config{Assigner: a}); err == nil {
			t.Errorf("New accepts %+v", a)
		}
	}
}

func TestPanicsOfALeaseAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events recorder.Recorder
		store := &fakeassigner.Assigner{OnAssign: fresh,
			OnRenew:   func(context.Context, *assigner.Grant, int64, int64) error { panic("renew") },
			OnRelease: func(context.Context, assigner.Grant, int64) error { panic("release") },
		}
		g, err := cached.New(cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), Assigner: store, Trace: leaseEvents(&events)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(46 * time.Second)
		next(t, g)
		if lines := events.Read(); !slices.Contains(lines, "failed: assigner: panic in Renew: renew") {
			t.Errorf("events %q, want the panic of Renew", lines)
		}
		if err := g.Close(); err == nil || !strings.Contains(err.Error(), "panic in Release: release") {
			t.Errorf("Close = %v, want the panic of Release", err)
		}
	})
}

// A lease that changes its mind about the worker ID must not bring the process down, nor be
// followed.
func TestRenewalCannotChangeTheWorkerID(t *testing.T) {
	for _, other := range []int64{-1, 1 << 17, 1<<17 - 1} {
		synctest.Test(t, func(t *testing.T) {
			store := &fakeassigner.Assigner{OnAssign: fresh, OnRenew: func(_ context.Context, g *assigner.Grant, _, _ int64) error {
				g.WorkerID = other
				return nil
			}}
			g := inBubble(t, cached.Config{Assigner: store, MaxStaleness: -1})
			before := next(t, g)
			time.Sleep(time.Minute)
			synctest.Wait()
			for _, id := range take(t, g, 20*16) {
				if f := parse(t, g, id); f.WorkerID == other || f.WorkerID < before.WorkerID {
					t.Fatalf("%v after %v: no Assign has returned it", f, before)
				}
			}
		})
	}
}
