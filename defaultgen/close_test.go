package defaultgen_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

func TestAfterCloseThereAreNoIDs(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		g, clock := onDial(t, defaultgen.Config{
			OnClockBack: policy,
			Trace:       defaultgen.Trace{TakeRejected: func(err error) { t.Errorf("TakeRejected got %v", err) }},
		})
		id := next(t, g).ID
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		for _, by := range []time.Duration{0, time.Second, -time.Hour, 1 << 60} {
			clock.move(by)
			if id, err := g.Next(); id != 0 || !errors.Is(err, defaultgen.ErrClosed) {
				t.Errorf("Next = %d, %v, want ErrClosed", id, err)
			}
			if id, err := g.NextContext(t.Context()); id != 0 || !errors.Is(err, defaultgen.ErrClosed) {
				t.Errorf("NextContext = %d, %v, want ErrClosed", id, err)
			}
			if n, err := g.Fill(make([]int64, 1)); n != 0 || !errors.Is(err, defaultgen.ErrClosed) {
				t.Errorf("Fill = %d, %v, want ErrClosed", n, err)
			}
			clock.move(-by)
		}
		if f := parse(t, g, id); f.WorkerID != g.WorkerID() || g.Stats().LastDelta != f.Delta {
			t.Errorf("after Close: worker %d, Stats %+v, want the values of the last ID, %v", g.WorkerID(), g.Stats(), f)
		}
	}
}

func TestCloseAgainAndAtOnceReturnsTheErrorOfTheRelease(t *testing.T) {
	refusal := errors.New("store out of reach")
	var used atomic.Int64
	store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh, OnRelease: func(_ context.Context, _ assigner.Grant, last int64) error {
		used.Store(last)
		return refusal
	}}
	cfg := complete(defaultgen.Config{Assigner: store})
	cfg.Now = newDial(cfg.Epoch.Add(1000 * time.Second)).now
	g, err := defaultgen.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, g, 16)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				if err := g.Close(); !errors.Is(err, refusal) {
					t.Errorf("Close: %v, want %v", err, refusal)
				}
			}
		})
	}
	wg.Wait()
	if n := store.Releases.Load(); n != 1 || used.Load() != 1000 {
		t.Errorf("%d releases, the last with used %d, want one with 1000, the unit of the last ID", n, used.Load())
	}
}

func TestCloseWithoutAnIDReportsThatNothingWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used int64
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh, OnRelease: func(_ context.Context, _ assigner.Grant, last int64) error {
			used = last
			return nil
		}}
		g := open(t, defaultgen.Config{Assigner: store})
		if err := g.Close(); err != nil || used != 0 {
			t.Errorf("Close: %v, released with used %d, want 0", err, used)
		}
	})
}

func TestCloseGivesTheStoreNoLongerThanAssignTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh, OnRelease: func(ctx context.Context, _ assigner.Grant, _ int64) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		g, err := defaultgen.New(complete(defaultgen.Config{Assigner: store, AssignTimeout: 3 * time.Second}))
		if err != nil {
			t.Fatal(err)
		}
		if d := elapsed(func() { err = g.Close() }); d != 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close took %v: %v, want 3s and DeadlineExceeded", d, err)
		}
	})
}

// Waiters for a unit, for the clock, and for a worker ID.
func TestCloseWakesAllWhoWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason error
		setUp  func(t *testing.T, by *atomic.Int64) *defaultgen.Generator
	}{
		{"for the next unit", defaultgen.ErrSequenceExhausted, func(t *testing.T, by *atomic.Int64) *defaultgen.Generator {
			g := open(t, defaultgen.Config{Layout: narrow(minute)})
			fill(t, g, 16)
			return g
		}},
		{"for the clock", defaultgen.ErrClockBack, func(t *testing.T, by *atomic.Int64) *defaultgen.Generator {
			g := open(t, defaultgen.Config{OnClockBack: defaultgen.Wait, MaxClockBack: time.Hour, Now: skewed(by)})
			next(t, g)
			by.Add(int64(-time.Hour))
			return g
		}},
		{"for a worker ID", defaultgen.ErrLeaseExhausted, func(t *testing.T, by *atomic.Int64) *defaultgen.Generator {
			store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(1), OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
				return errors.New("store out of reach")
			}}
			g := open(t, defaultgen.Config{Assigner: store})
			time.Sleep(time.Second)
			return g
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := c.setUp(t, new(atomic.Int64))
				if _, err := g.Next(); !errors.Is(err, c.reason) {
					t.Fatalf("Next: %v, want %v", err, c.reason)
				}
				var woken atomic.Int64
				for range 8 {
					go func() {
						if id, err := g.NextContext(t.Context()); id != 0 || !errors.Is(err, defaultgen.ErrClosed) {
							t.Errorf("NextContext = %d, %v, want ErrClosed", id, err)
						}
						woken.Add(1)
					}()
				}
				time.Sleep(10 * time.Millisecond)
				if woken.Load() != 0 {
					t.Errorf("%d waiters came back before Close", woken.Load())
				}
				if d := elapsed(func() {
					if err := g.Close(); err != nil {
						t.Error(err)
					}
					synctest.Wait()
				}); d != 0 || woken.Load() != 8 {
					t.Errorf("after Close and %v %d of 8 waiters are back", d, woken.Load())
				}
			})
		})
	}
}

// A store that ignores its context delays Close, but no caller that waits for an ID.
func TestWaitersDoNotSpinWhileCloseWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh, OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
			<-answer
			return nil
		}}
		g := open(t, defaultgen.Config{Layout: narrow(minute), Assigner: store})
		fill(t, g, 16)
		time.Sleep(heartbeat + time.Second)
		woken := make(chan error, 1)
		go func() {
			_, err := g.NextContext(t.Context())
			woken <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- g.Close() }()
		if d := elapsed(func() {
			if err := <-woken; !errors.Is(err, defaultgen.ErrClosed) {
				t.Errorf("NextContext: %v, want ErrClosed", err)
			}
		}); d != 0 {
			t.Errorf("NextContext came back after %v", d)
		}
		close(answer)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// Callers that race with Close get good IDs or ErrClosed, and none after Close has returned.
func TestCloseUnderLoad(t *testing.T) {
	for range 20 {
		g := open(t, defaultgen.Config{Layout: bitsalloc.Snowflake()})
		var log ledger
		var closed atomic.Bool
		started := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				started <- struct{}{}
				for range 100_000 {
					late := closed.Load()
					if !log.take(t, func() (int64, error) {
						if i%2 == 0 {
							return g.NextContext(t.Context())
						}
						return g.Next()
					}, defaultgen.ErrClosed, defaultgen.ErrSequenceExhausted) {
						if _, err := g.Next(); errors.Is(err, defaultgen.ErrClosed) {
							return
						}
					} else if late {
						t.Error("an ID after Close had returned")
					}
				}
			})
		}
		for range 8 {
			<-started
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		wg.Wait()
		log.check(t, 0)
	}
}

func TestFuncsOfTraceMayPanicAndMayAskTheGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared atomic.Pointer[defaultgen.Generator]
		var calls atomic.Int64
		ask := func(name string) {
			calls.Add(1)
			if g := shared.Load(); g != nil {
				g.Stats()
				g.WorkerID()
			}
			panic(name)
		}
		g := open(t, defaultgen.Config{Assigner: losing(), Trace: defaultgen.Trace{
			TakeRejected:  func(error) { ask("TakeRejected") },
			LeaseAssigned: func(assigner.Grant) { ask("LeaseAssigned") },
			LeaseLost:     func(int64, error) { ask("LeaseLost") },
		}})
		shared.Store(g)
		fill(t, g, 16)
		if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) {
			t.Errorf("Next: %v, want ErrSequenceExhausted", err)
		}
		time.Sleep(minute)
		if f := wait(t, g); f.WorkerID != 999 || calls.Load() != 4 {
			t.Errorf("ID %v after %d calls, want worker 999 after 4", f, calls.Load())
		}
	})
}
