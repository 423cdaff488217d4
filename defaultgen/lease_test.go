package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/bubble"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
)

// minute is longer than the time between two renewals.
const minute = time.Minute

// losing is a store whose leases are lost at the first renewal. It gives the worker IDs from 1,000
// down: a smaller worker ID makes it hard to keep IDs increasing.
func losing() *fakeassigner.Assigner {
	return &fakeassigner.Assigner{
		OnAssign: func(_ context.Context, nth int, _ assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 1001 - int64(nth), First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
		},
		OnRenew: func(context.Context, *assigner.Grant, int64, int64) error { return assigner.ErrWorkerRowLost },
	}
}

// From the half of the grant on, the generator asks for more, once.
func TestGrantIsExtendedFromItsHalfOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(100), OnRenew: fakeassigner.Raise}
		g := open(t, defaultgen.Config{Assigner: store, Now: gentest.Skewed(&by)})
		limit := g.Stats().Limit
		for _, ahead := range []time.Duration{40 * time.Second, 60 * time.Second} {
			by.Store(int64(ahead))
			fill(t, g, 3)
			synctest.Wait()
			if got, want := g.Stats().Limit > limit, ahead > 50*time.Second; got != want || want && store.Renewals.Load() != 1 {
				t.Errorf("%v ahead: limit %d after %d, %d renewals", ahead, g.Stats().Limit, limit, store.Renewals.Load())
			}
		}
	})
}

func TestLossInTheLastUnitEndsTheGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := losing()
		store.OnAssign = func(_ context.Context, nth int, _ assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: int64(nth), First: 1, Limit: assigner.Unlimited, Reusable: nth > 1}, nil
		}
		cfg := complete(defaultgen.Config{
			Assigner: store, Layout: bitsalloc.Layout{DeltaBits: 10, WorkerBits: 10, SequenceBits: 4, Unit: minute},
		})
		ahead := cfg.Epoch.Add(1023 * minute).Sub(gentest.Start)
		cfg.Now = func() time.Time { return time.Now().Add(ahead) }
		g := open(t, cfg)
		next(t, g)
		time.Sleep(50 * time.Second)
		var err error
		if d := gentest.Elapsed(func() { _, err = g.NextContext(t.Context()) }); d != 0 || !errors.Is(err, defaultgen.ErrTimeExhausted) {
			t.Errorf("NextContext took %v: %v, want ErrTimeExhausted at once", d, err)
		}
	})
}

// A worker that is lost leaves the rest of its unit unused. Callers that wait must not hear of a
// clock that went back, since it did not.
func TestLossIsNoStepBackOfTheClock(t *testing.T) {
	for name, bits := range map[string]uint8{"unit used up": 4, "no sequence field": 0} {
		t.Run(name, func(t *testing.T) {
			for _, reuse := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					store := losing()
					store.OnAssign = func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
						return assigner.Grant{WorkerID: 4, First: 1, Limit: assigner.Unlimited, Reusable: reuse}, nil
					}
					g := open(t, defaultgen.Config{
						Assigner: store,
						Layout:   bitsalloc.Layout{DeltaBits: 40, WorkerBits: 10, SequenceBits: bits, Unit: minute},
					})
					var last bitsalloc.Fields
					for range 1 << bits { // the whole unit
						last = wait(t, g)
					}
					time.Sleep(50 * time.Second) // within the unit
					if store.Assigns.Load() < 2 {
						t.Fatal("no worker was lost")
					}
					if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) {
						t.Errorf("Next: %v, want ErrSequenceExhausted", err)
					}
					checkAt(t, wait(t, g), last.Delta+1, 0)
				})
			}
		})
	}
}

func TestCallerInFlightIssuesNothingWithALostWorker(t *testing.T) {
	for _, c := range []struct {
		name      string
		used      int  // IDs of the unit
		others    bool // whether others take IDs meanwhile
		exhausted bool // whether the store has no other worker
	}{
		{"unit not begun", 0, false, false},
		{"unit not begun, others at work", 0, true, false},
		{"unit begun", 3, false, false},
		{"unit begun, others at work", 3, true, false},
		{"unit used up", 16, false, false},
		{"unit used up, others at work", 16, true, false},
		{"unit used up, no other worker", 16, false, true},
	} {
		bubble.Run(t, c.name, func(t *testing.T) {
			stop, store := newGate(), losing()
			stop.late = true
			give := store.OnAssign
			store.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if nth > 1 && c.exhausted {
					return assigner.Grant{}, assigner.ErrWorkersExhausted
				}
				return give(ctx, nth, d)
			}
			g := open(t, defaultgen.Config{Assigner: store, Now: stop.now})
			time.Sleep(heartbeat - 500*time.Millisecond)
			fill(t, g, c.used)
			stop.shut.Store(true)
			type result struct {
				id  int64
				err error
			}
			inFlight := make(chan result)
			go func() {
				id, err := g.Next()
				inFlight <- result{id, err}
			}()
			<-stop.reading
			time.Sleep(10 * time.Second) // lost at the heartbeat
			other := int64(0)
			if c.others {
				other = wait(t, g).ID
			}
			close(stop.goOn)
			got := <-inFlight
			if c.exhausted {
				if got.id != 0 || !errors.Is(got.err, defaultgen.ErrLeaseExhausted) {
					t.Errorf("the caller in flight got %d, %v, want ErrLeaseExhausted", got.id, got.err)
				}
				return
			}
			if f := parse(t, g, got.id); got.err != nil || f.WorkerID != 999 || f.ID <= other {
				t.Errorf("the caller in flight got %v, %v, want worker 999 and more than %d", f, got.err, other)
			}
		})
	}
}

// heartbeat is the time between two renewals when nothing else calls for one.
const heartbeat = 45 * time.Second

func TestCallerInFlightIssuesNothingAboveALimitThatWasLowered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now func() int64
		store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
			if nth > 1 {
				return assigner.Grant{}, errors.New("store is down")
			}
			now = d.Now
			return fakeassigner.Fenced(100)(ctx, nth, d)
		}, OnRenew: func(_ context.Context, g *assigner.Grant, _, _ int64) error {
			g.Limit = min(g.Limit, now()+10)
			return assigner.ErrWorkerRowLost
		}}
		stop := newGate()
		stop.ahead = 20 * time.Second // within the limit as it is before
		g := open(t, defaultgen.Config{Assigner: store, Now: stop.now})
		time.Sleep(heartbeat - time.Second)
		stop.shut.Store(true)
		result := make(chan int64)
		go func() {
			id, err := g.Next()
			if err != nil {
				t.Errorf("Next with a clock that is right again: %v", err)
			}
			result <- id
		}()
		<-stop.reading
		time.Sleep(2 * time.Second)
		close(stop.goOn)
		if f, limit := parse(t, g, <-result), g.Stats().Limit; f.Delta > limit || !f.Time.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("ID %v, want one of the present, up to the limit %d", f, limit)
		}
	})
}

// A caller that sees its grant end while the store extends it has an ID of the extended grant.
func TestCallerInFlightSeesTheExtendedGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		var stop atomic.Bool
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(100), OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
			g.Limit = want + 100
			return nil
		}}
		g := open(t, defaultgen.Config{Assigner: store, Now: func() time.Time {
			if stop.CompareAndSwap(true, false) {
				by.Store(int64(time.Hour))
				time.Sleep(time.Minute) // the lease is renewed
			}
			return time.Now().Add(time.Duration(by.Load()))
		}})
		next(t, g)
		stop.Store(true)
		checkTime(t, next(t, g), time.Now().Add(time.Hour), time.Second)
	})
}

// The generator asks for a delta beyond its grant at once.
func TestGrantIsExtendedOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		returned := make(chan struct{}) // an extension before that would give Next an ID
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(100), OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			<-returned
			return fakeassigner.Raise(ctx, g, used, want)
		}}
		g := open(t, defaultgen.Config{Assigner: store, Now: gentest.Skewed(&by)})
		by.Store(int64(time.Hour))
		if _, err := g.Next(); !errors.Is(err, defaultgen.ErrLeaseExhausted) {
			t.Errorf("Next beyond the grant: %v, want ErrLeaseExhausted", err)
		}
		close(returned)
		if d := gentest.Elapsed(func() { wait(t, g) }); d != 0 {
			t.Errorf("NextContext took %v", d)
		}
	})
}
