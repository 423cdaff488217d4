package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/testkit"
)

// An ending is how a lease on the deltas 1 to 100 ends, when the generator has used those up to 50.
type ending struct {
	err   error // beside ErrWorkerRowLost
	limit int64 // of Grant afterwards
	other bool  // whether Grant then names another worker ID
	calm  bool  // whether the renewal returns no error with it

	before func(ctx context.Context, up *atomic.Bool) // each call of Assign but the first; nil: at once
}

// loseFenced ends the first lease at its first renewal. Until up is set, the store gives no other.
func loseFenced(t *testing.T, r *rig, e ending) (up *atomic.Bool) {
	t.Helper()
	fence(r)
	give, raise := r.assign, r.renew
	up = new(atomic.Bool)
	r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
		if n > 0 && e.before != nil {
			e.before(ctx, up)
		}
		if n > 0 && !up.Load() {
			return assigner.Grant{}, errors.New("store is down")
		}
		g, err := give(ctx, n)
		g.First += int64(n) * 1000
		g.Last += int64(n) * 1000
		return g, err
	}
	r.renew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		if g.WorkerID != r.first {
			return raise(ctx, g, used, want)
		}
		g.Last = e.limit
		if e.other {
			g.WorkerID++
		}
		if e.calm {
			return nil
		}
		return errors.Join(fmt.Errorf("%w: row 1 has been taken over", assigner.ErrWorkerRowLost), e.err)
	}
	r.open(t)
	r.Read()
	r.used.Store(50)
	r.Extend(101)
	synctest.Wait()
	return up
}

func TestGrantIsUsedUpAfterALossUnlessItsDeltasMayBeHandedOutAgain(t *testing.T) {
	for name, row := range map[string]struct {
		ending
		limit int64 // up to which the generator goes on; 0: it stops at once
	}{
		"taken over":                      {ending{limit: 100}, 100},
		"lowered to the used delta":       {ending{limit: 50}, 50},
		"lowered below the used delta":    {ending{limit: 49}, 0},
		"fence withdrawn":                 {ending{limit: assigner.Unlimited}, 100},
		"store has gone back":             {ending{limit: 100, err: leasestore.ErrFenceRegressed}, 0},
		"row deleted":                     {ending{limit: 100, err: leasestore.ErrRowMissing}, 0},
		"the grant is another worker's":   {ending{limit: 100, other: true}, 0},
		"the renewal is another worker's": {ending{limit: 100, other: true, calm: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				up := loseFenced(t, r, row.ending)
				h, want := r.Current(), []string{"0s renew 0, 50 to 101", "0s ERROR worker ID lost", "0s lost 0"}
				if row.limit == 0 {
					want = append(want[:1], "0s ended", want[1], want[2])
				}
				same(t, r.Read()[:len(want)], want...)
				if row.limit == 0 && h != nil {
					t.Fatalf("Current = %+v, want nil", h)
				}
				if row.limit != 0 && (h == nil || h.Last != row.limit || h.First != 1 || h.Generation != 1 || h.Half != math.MaxInt64 || r.Latest() != h) {
					t.Fatalf("Current = %+v, Latest = %+v, want the first lease up to %d", h, r.Latest(), row.limit)
				}
				up.Store(true)
				time.Sleep(10 * time.Second)
				if h := r.Current(); h == nil || h.Generation != 2 || h.WorkerID == r.first || h.Last < 1000 || h != r.Latest() {
					t.Errorf("Current = %+v, want another lease", h)
				}
				if lines := strings.Join(r.Read(), "\n"); strings.Contains(lines, "kept") {
					t.Errorf("the worker ID is lost, and events say that it was kept:\n%s", lines)
				}
			})
		})
	}
}

func TestShortageNamesTheLimitAndTheLastAnswer(t *testing.T) {
	check := func(t *testing.T, r *rig, want string) {
		t.Helper()
		want = fmt.Sprintf("uidring: no worker ID is held for the unit of time: worker ID %d %s", r.first, want)
		if err := r.Shortage(); err.Error() != want || !errors.Is(err, uidring.ErrLeaseExhausted) {
			t.Errorf("Shortage = %q, want %q", err, want)
		}
	}
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		var up atomic.Bool
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			if up.Load() {
				return nil
			}
			return errors.New("store is down")
		}
		r.open(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		check(t, r, "may be used up to delta 100; last answer of the store: store is down")
		up.Store(true)
		time.Sleep(time.Minute)
		check(t, r, "may be used up to delta 100")
	})
	bubble(t, func(t *testing.T, r *rig) {
		loseFenced(t, r, ending{limit: 100, before: func(context.Context, *atomic.Bool) { time.Sleep(time.Second) }})
		const lost = "may be used up to delta 100; last answer of the store: "
		check(t, r, lost+"assigner: worker row lost: row 1 has been taken over")
		time.Sleep(time.Minute)
		check(t, r, lost+"store is down")
		r.Read()
		r.Invalidate() // withdraws the rest of the grant
		check(t, r, "is no longer held; last answer of the store: store is down")
		if lines := r.Read(); r.Current() != nil || !strings.HasSuffix(lines[0], " ended") {
			t.Errorf("Current = %+v, events %q, want none after Ended", r.Current(), lines)
		}
	})
}

// Close comes while the next lease is being taken: that one alone is released, if it was given.
func TestCloseInTheMiddleOfALoss(t *testing.T) {
	for given, want := range map[bool]int64{true: 1, false: 0} {
		bubble(t, func(t *testing.T, r *rig) {
			loseFenced(t, r, ending{limit: 100, before: func(ctx context.Context, up *atomic.Bool) {
				<-ctx.Done()
				up.Store(given)
			}})
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			lines := strings.Join(r.Read(), "\n")
			if n := r.store.Releases.Load(); n != want || strings.Contains(lines, "release 0") || strings.Contains(lines, "failed") {
				t.Errorf("%d releases, want %d, never of the lost one, and no failure:\n%s", n, want, lines)
			}
		})
	}
}

// Requests of a generator whose lease is lost do not hammer the store, however it refuses.
func TestRequestsAfterALossDoNotHammerTheStore(t *testing.T) {
	for name, row := range map[string]struct {
		err   error
		calls int64
	}{
		"down":       {errors.New("store is down"), 20},
		"lost again": {assigner.ErrWorkerRowLost, 20},
		"quarantine": {generator.Passing{Err: assigner.ErrQuarantined, After: time.Hour}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				fence(r)
				give := r.assign
				r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
					if n > 0 {
						return assigner.Grant{}, row.err
					}
					return give(ctx, n)
				}
				r.renew = func(context.Context, *assigner.Grant, int64, int64) error { return assigner.ErrWorkerRowLost }
				r.open(t)
				for i := range int64(10_000) {
					r.Extend(101 + i)
					time.Sleep(time.Millisecond)
				}
				if n := r.store.Assigns.Load(); n < 2 || n > row.calls {
					t.Errorf("%d calls of Assign in 10 s, want at most %d", n, row.calls)
				}
				if h := r.Current(); h == nil || h.Last != 100 {
					t.Errorf("Current = %+v, want the first grant", h)
				}
			})
		})
	}
}

// An assigner that keeps a record of its leases refuses another one until the first is abandoned.
func TestLeaseIsAbandonedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.OnAbandon = func(g assigner.Grant) { r.Note("abandon %d", g.WorkerID-r.first) }
		r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
			r.Note("assign")
			if n > 1 {
				<-ctx.Done()
			}
			return r.fresh(n), ctx.Err()
		}
		r.open(t)
		r.Read()
		r.Invalidate()
		synctest.Wait()
		same(t, r.Read()[2:], "0s abandon 0", "0s assign", "0s INFO worker ID assigned", "0s assigned 1")
		r.Invalidate()
		testkit.Must(t, r.Close())
		same(t, r.Read(), "0s ended", "0s INFO worker ID invalidated", "0s abandon 1", "0s assign", "0s ended")
	})
}

// The clock of a user may find out, while a lease is being lost, that the machine was resumed, and
// call Invalidate.
func TestClockOfALossInvalidates(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			r.deltas = func() {
				r.deltas = nil
				r.Invalidate()
			}
			return assigner.ErrWorkerRowLost
		}
		r.open(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.Current(); got == nil || got.WorkerID != r.first+1 {
			t.Errorf("the state after the loss is %+v, want one of the next worker ID", got)
		}
	})
}

// Assign may be under way at each call of Invalidate, which may also come beside Close; the race
// detector watches.
func TestInvalidateBesideAssignAndClose(t *testing.T) {
	for range 20 {
		r := newRig()
		testkit.Must(t, r.startIn(t.Context(), r.settings()))
		for range 50 {
			r.Invalidate()
		}
		for changed := r.Changed(); r.Current() == nil; changed = r.Changed() {
			<-changed
		}
		testkit.Together(2, func(i int) {
			if i == 0 {
				r.Invalidate()
			} else {
				testkit.Must(t, r.Close())
			}
		})
	}
}

// A lease that is being taken or renewed when Invalidate is called may be older than the copy of
// the process.
func TestInvalidateReachesACallInProgress(t *testing.T) {
	for call, failure := range map[string]error{"Assign": nil, "Renew": nil, "lost Renew": assigner.ErrWorkerRowLost} {
		bubble(t, func(t *testing.T, r *rig) {
			fence(r)
			extend := call != "Assign"
			give, raise := r.assign, r.renew
			r.renew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
				return errors.Join(raise(ctx, g, used, want), failure)
			}
			r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
				if n == 1 {
					time.Sleep(time.Second)
				}
				return give(ctx, n)
			}
			renewSlowly(r)
			r.open(t)
			want := int64(2)
			if extend {
				r.Extend(120)
				want = 1
			} else {
				r.Invalidate()
			}
			time.Sleep(500 * time.Millisecond)
			r.Invalidate()
			time.Sleep(5 * time.Second)
			if h := r.Current(); h == nil || h.WorkerID != r.first+want {
				t.Errorf("%s: Current = %+v, want worker ID %d of the test", call, h, want)
			}
			lines := strings.Join(r.Read(), "\n")
			if !extend && strings.Contains(lines, "1s assigned 1") || strings.Contains(lines, "lost") || strings.Contains(lines, "failed") {
				t.Errorf("%s: events %s, want nothing of the dropped lease", call, lines)
			}
		})
	}
}

// TestNoLeaseIsTakenBeforeTheOldOneHasEnded wakes the keeper in the middle of Invalidate, while a
// padding pass may still use the old worker ID. It runs in real time: a goroutine at a mutex stops
// a bubble's clock.
func TestNoLeaseIsTakenBeforeTheOldOneHasEnded(t *testing.T) {
	r := newRig()
	r.open(t)
	r.ended = func() {
		r.Extend(1 << 20)
		testkit.Yield()
		if n := r.store.Assigns.Load(); n != 1 {
			t.Errorf("%d leases taken, want the first alone", n)
		}
		r.ended = nil // not at Close
	}
	changed := r.Changed()
	r.Invalidate()
	<-changed
	if h := r.Current(); h.WorkerID != r.first+1 {
		t.Errorf("Current = %+v, want the second lease", h)
	}
}

func TestTakeRejectedMayTakeAnID(t *testing.T) {
	var k *keeper.Keeper
	calls := 0
	k, _ = keeper.New(keeper.Settings{Trace: keeper.Trace{TakeRejected: func(i uidring.TakeRejectedInfo) {
		if calls++; calls > 10 {
			t.Fatal("TakeRejected calls itself")
		}
		_ = k.Rejected(i.Err)
	}}})
	for range 2 {
		_ = k.Rejected(errors.New("down"))
	}
	if n := k.Rejections.Load(); calls != 2 || n != 4 {
		t.Errorf("%d calls for %d errors, want 2 for 4", calls, n)
	}
}
