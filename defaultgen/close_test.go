package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/gentest"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

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

// Waiters for a unit and for the clock.
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
			g := open(t, defaultgen.Config{Now: gentest.Skewed(by)})
			next(t, g)
			by.Add(int64(-time.Hour))
			return g
		}},
	} {
		bubble.Run(t, c.name, func(t *testing.T) {
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
			if d := gentest.Elapsed(func() {
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}); d != 0 || woken.Load() != 8 {
				t.Errorf("after Close and %v %d of 8 waiters are back", d, woken.Load())
			}
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
		if d := gentest.Elapsed(func() {
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
