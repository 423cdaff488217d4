package gentest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

var errDown = errors.New("store out of reach")

// heartbeat is the time between two renewals when nothing else calls for one.
const heartbeat = 45 * time.Second

// downward gives the worker IDs from 1,000 down: a smaller worker ID makes it hard to keep IDs
// increasing.
func downward(assign fakeassigner.AssignFunc) fakeassigner.AssignFunc {
	return func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		g, err := assign(ctx, nth, d)
		g.WorkerID = 1001 - int64(nth%1000)
		return g, err
	}
}

// invalidated has the store take an hour for the second worker ID. The generator issues no ID until
// then, and goes on above all deltas that it used, even if the worker ID is the same.
func (s *suite) invalidated(t *testing.T) {
	static := Always(assigner.Grant{WorkerID: 900, First: 1, Last: assigner.Unlimited, Reusable: true})
	for name, assign := range map[string]fakeassigner.AssignFunc{
		"fresh": downward(fakeassigner.Fresh), "fenced": downward(fakeassigner.Fenced(1000)), "static": static,
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if nth == 2 {
					time.Sleep(time.Hour)
				}
				return assign(ctx, nth, d)
			}}
			c := s.config(keeper.Settings{Assigner: store})
			c.AllowReuse = true
			g := s.openWith(t, c)
			before := Wait(t, g)
			last := s.Stats(g).LastDelta
			g.Invalidate()
			if id, err := g.Next(); id != 0 || !errors.Is(err, uidring.ErrLeaseExhausted) {
				t.Errorf("Next after Invalidate = %d, %v, want %v", id, err, uidring.ErrLeaseExhausted)
			}
			if n, err := g.Fill(make([]int64, 1)); n != 0 || !errors.Is(err, uidring.ErrLeaseExhausted) {
				t.Errorf("Fill after Invalidate = %d, %v, want %v", n, err, uidring.ErrLeaseExhausted)
			}
			after := Wait(t, g)
			if (after.WorkerID == before.WorkerID) != (name == "static") || after.WorkerID != g.WorkerID() || after.Delta <= last || time.Since(Start) < time.Hour {
				t.Errorf("%v after %v, want the worker ID of the second grant and a delta above %d", after, before, last)
			}
			if n := store.Releases.Load(); n != 0 {
				t.Error("the old worker ID was released: a copy of the process may be using it")
			}
		})
	}
}

// preparation has IDs prepared, which may be of the lease that ends: Invalidate and the keeper's
// hook wait. It runs in real time, since a goroutine at a mutex stops a bubble's clock.
func (s *suite) preparation(t *testing.T) {
	for name, call := range map[string]func(Generator){"Invalidate": Generator.Invalidate, "Used": s.Used} {
		g := s.open(t, keeper.Settings{Now: func() time.Time { return Start }})
		unlock := s.Lock(g)
		waits, wait := testkit.Waits(func() { call(g) })
		if !waits {
			t.Errorf("%s has returned while IDs are prepared", name)
		}
		unlock()
		wait()
	}
}

// grantAfterLoss has a lease on the present delta and the 99 after it end at the first renewal. The
// generator uses up the grant, unless the store may hand out the same deltas again. There is no
// other lease until the generator has stopped; the next worker ID is smaller.
func (s *suite) grantAfterLoss(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		left int64 // the limit that the store then has: so many deltas ahead of its clock
		goes bool  // whether the generator goes on up to the limit
	}{
		"taken over":  {nil, 1000, true},
		"lowered":     {nil, 10, true},
		"row deleted": {leasestore.ErrRowMissing, 1000, false},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			s.loseAfter(t, row.left, row.goes, errors.Join(assigner.ErrWorkerRowLost, row.err))
		})
	}
}

func (s *suite) loseAfter(t *testing.T, left int64, goes bool, failure error) {
	var up atomic.Bool
	var limit int64
	var now func() int64
	store := &fakeassigner.Assigner{}
	store.OnAssign = downward(func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if nth > 1 && !up.Load() {
			return assigner.Grant{}, errDown
		}
		now = d.Now
		return fakeassigner.Fenced(100)(ctx, nth, d)
	})
	store.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		if g.WorkerID != 1000 {
			return fakeassigner.Raise(ctx, g, used, want)
		}
		g.Last = min(g.Last, now()+left)
		limit = g.Last
		return failure
	}
	g := s.open(t, keeper.Settings{Assigner: store})
	first := Wait(t, g)
	time.Sleep(heartbeat)
	synctest.Wait()
	last, n := s.usedUp(t, g, first)
	switch {
	case !goes && n != 0:
		t.Errorf("%d IDs after the loss, up to %v, want none", n, last)
	case goes && last.Delta != limit:
		t.Errorf("IDs up to %v, want the limit %d", last, limit)
	case goes && s.Gapless && int64(n) != (limit-first.Delta+1)*16-1:
		t.Errorf("%d IDs after the first, want all of the deltas %d to %d", n, first.Delta, limit)
	}
	if st := s.Stats(g); st.Window != 0 || st.WindowLasts != 0 || store.Assigns.Load() < 2 {
		t.Errorf("Stats = %+v after %d calls of Assign, want no window and another call", st, store.Assigns.Load())
	}
	up.Store(true)
	if f := Wait(t, g); f.WorkerID >= 1000 || f.Delta <= last.Delta {
		t.Errorf("%v after %v, want another worker ID in a later unit", f, last)
	}
}

// usedUp takes IDs, of one worker ID and in order, until no grant has more.
func (s *suite) usedUp(t *testing.T, g Generator, last bitsalloc.Fields) (bitsalloc.Fields, int) {
	t.Helper()
	for n := 0; ; {
		id, err := g.Next()
		switch {
		case errors.Is(err, uidring.ErrLeaseExhausted):
			return last, n
		case err != nil:
			time.Sleep(time.Second / 2)
			continue
		}
		f := Parse(t, g, id, nil)
		if f.WorkerID != last.WorkerID || f.ID <= last.ID {
			t.Fatalf("%v after %v, want the same worker ID", f, last)
		}
		last = f
		n++
	}
}

// waits returns the methods that wait, each for one ID.
func waits(g Generator) map[string]func(context.Context) (int64, error) {
	return map[string]func(context.Context) (int64, error){
		"NextContext": g.NextContext,
		"FillContext": func(ctx context.Context) (int64, error) {
			ids := make([]int64, 1)
			_, err := g.FillContext(ctx, ids)
			return ids[0], err
		},
		"ReserveContext": func(ctx context.Context) (int64, error) {
			id, _, err := g.ReserveContext(ctx, 1)
			return id, err
		},
	}
}

// storeDown has a store that answers no renewal for an hour after the grant is used up.
func (s *suite) storeDown(t *testing.T) {
	var up atomic.Bool
	rejected, failures := int64(0), int64(0)
	store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(3)}
	store.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		if !up.Load() {
			return fmt.Errorf("%w: %w", errDown, context.DeadlineExceeded) // of the call
		}
		return fakeassigner.Raise(ctx, g, used, want)
	}
	g := s.open(t, keeper.Settings{Assigner: store, Trace: keeper.Trace{
		TakeRejected: func(uidring.TakeRejectedInfo) { rejected++ },
		RenewFailed:  func(assigner.LeaseInfo) { failures++ },
	}})
	first := Wait(t, g)
	last, _ := s.usedUp(t, g, first)
	before := rejected
	_, err1 := g.Next()
	_, err2 := g.Fill(make([]int64, 1))
	if err := errors.Join(err1, err2); err1 == nil || err2 == nil || errors.Is(err, context.DeadlineExceeded) || rejected != before+2 {
		t.Errorf("Next and Fill: %v, %v, which is no error of a context, with %d rejected takes, want 2", err1, err2, rejected-before)
	}
	st := s.Stats(g)
	if last.Delta > st.LastGranted || st.Window != 0 || st.WindowLasts != 0 || st.RejectedTakes != rejected {
		t.Errorf("Stats = %+v after %v, want no window and %d rejected takes", st, last, rejected)
	}
	for name, wait := range waits(g) {
		cause := errors.New("cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Minute, cause)
		began := time.Now()
		id, err := wait(ctx)
		if d := time.Since(began); id != 0 || d != 20*time.Minute || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) || !errors.Is(err, uidring.ErrLeaseExhausted) || !strings.HasPrefix(err.Error(), s.Package+": ") {
			t.Errorf("%s took %v: %d, %v, want 20m, DeadlineExceeded, the cause and the reason", name, d, id, err)
		}
		cancel()
	}
	if got := s.Stats(g).RejectedTakes; got != rejected || got != st.RejectedTakes+3 || store.Renewals.Load() > 800 {
		t.Errorf("%d rejected takes for three calls, %d renewals in an hour", got-st.RejectedTakes, store.Renewals.Load())
	}
	up.Store(true)
	began := time.Now()
	if f := Wait(t, g); time.Since(began) > 15*time.Second || f.WorkerID != first.WorkerID || f.ID <= last.ID {
		t.Errorf("ID %v after %v, want the same worker ID within one retry of the store's return", f, time.Since(began))
	}
	synctest.Wait()
	if st := s.Stats(g); failures < 3 || st.RenewFailures != failures || st.Renewals < 1 || st.Guarantee != assigner.GuaranteeFenced {
		t.Errorf("%d calls of RenewFailed, Stats %+v, want several and the same number", failures, st)
	}
}

// changeUnderLoad has 64 goroutines take IDs while every renewal finds the worker ID lost: leases
// without a fence at a heartbeat, fenced ones whenever the limit is reached.
func (s *suite) changeUnderLoad(t *testing.T) {
	for name, assign := range map[string]fakeassigner.AssignFunc{"unfenced": fakeassigner.Fresh, "fenced": fakeassigner.Fenced(2000)} {
		testkit.Bubble(t, name, func(t *testing.T) {
			store := &fakeassigner.Assigner{OnAssign: downward(assign), OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
				runtime.Gosched()
				return assigner.ErrWorkerRowLost
			}}
			g := s.open(t, keeper.Settings{Assigner: store, Layout: bitsalloc.Snowflake()})
			var taken idset.Ledger
			var loss generator.Notifier
			testkit.Together(64, func(i int) {
				for range 20 {
					for range 20 {
						if err := taken.Next(t, func() (int64, error) { return g.NextContext(t.Context()) }); err != nil {
							t.Error(err)
						}
					}
					// All go on at the moment of the next loss. One timer wakes them: in Go 1.26 the timers
					// of a bubble share a context of the race detector, and two that fire at once may crash it.
					if i == 0 {
						time.Sleep(heartbeat - time.Since(Start)%heartbeat)
						loss.Wake()
					} else {
						<-loss.Wait()
					}
				}
			})
			if n := store.Assigns.Load(); n < 10 {
				t.Errorf("%d worker IDs, want many", n)
			}
		})
	}
}

// oldestDelta has a generator report the oldest delta that it may still use every 10 s. It issues
// no ID below that, and an idle generator keeps up with the clock.
func (s *suite) oldestDelta(t *testing.T) {
	store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(1000), Within: 10 * time.Second,
		OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			return fakeassigner.Raise(ctx, g, used, want+60)
		}}
	g := s.open(t, keeper.Settings{Assigner: store})
	for range 500 {
		oldest := store.Oldest.Load()
		if f := Wait(t, g); f.Delta < oldest {
			t.Fatalf("%v after the report that no ID is below delta %d", f, oldest)
		}
		time.Sleep(rand.N(8 * time.Second))
	}
	time.Sleep(time.Minute)
	idle := store.Oldest.Load()
	if f := Wait(t, g); time.Duration(f.Delta-idle)*time.Second > 10*time.Second+2*s.Off+4*time.Second || f.Delta < idle {
		t.Errorf("%v, delta %d, while the oldest delta is %d, want it at most a renewal and %v older", f, f.Delta, idle, 2*s.Off)
	}
}
