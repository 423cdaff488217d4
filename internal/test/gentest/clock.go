package gentest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

const year = 365 * 24 * time.Hour

// Skewed returns the bubble's clock, wrong by as much as a test says.
func Skewed(by *atomic.Int64) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
}

// A warden is a store with a clock of its own, the bubble's. It refuses to give a worker ID to a
// host whose clock is more than a minute off, and grants 60 to 100 units above its clock and use.
type warden struct {
	fakeassigner.Assigner
	epoch  time.Time
	ahead  atomic.Int64 // how far a request or a limit was ahead of the clock, in units
	misled atomic.Int64 // requests half a year ahead
	skewed atomic.Int64 // calls of Assign that were refused
}

func newWarden() *warden {
	w := &warden{epoch: NewEpoch()}
	w.OnAssign = func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		now := w.now()
		if off := d.Now() - now; off < -60 || off > 60 {
			w.skewed.Add(1)
			return assigner.Grant{}, fmt.Errorf("%w: by %d units", leasestore.ErrClockSkew, off)
		}
		return assigner.Grant{WorkerID: int64(nth), First: now, Limit: now + 38, Guarantee: assigner.GuaranteeFenced, Reusable: true}, nil
	}
	w.OnRenew = w.renew
	return w
}

func (w *warden) renew(_ context.Context, g *assigner.Grant, used, want int64) error {
	if used > g.Limit {
		return fmt.Errorf("used %d of a grant up to %d", used, g.Limit)
	}
	now := w.now()
	if want-now > int64(year/time.Second/2) {
		w.misled.Add(1)
	} else {
		w.ahead.Store(max(w.ahead.Load(), max(used, want)-now))
	}
	g.Limit = max(g.Limit, now+60, min(want, max(used, now)+100))
	w.ahead.Store(max(w.ahead.Load(), g.Limit-now))
	return nil
}

func (w *warden) now() int64 { return int64(time.Since(w.epoch) / time.Second) }

// keepsTime takes IDs for some minutes and asks that they and the renewals are close to the clock,
// and that at most one call of Next finds no ID, unless IDs are prepared in the background.
func (s *suite) keepsTime(t *testing.T, w *warden, g Generator) {
	t.Helper()
	failures := 0
	for range 100 {
		id, err := g.Next()
		if err != nil {
			failures++
			if !s.Gapless && (!errors.Is(err, s.Errors.LeaseExhausted) || failures > 1) {
				t.Fatalf("Next: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if id, err = g.NextContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if f := Parse(t, g, id, nil); time.Until(f.Time).Abs() > s.Off {
			t.Fatalf("%v at %v, want an ID of the present", f, time.Now())
		}
		time.Sleep(3 * time.Second)
	}
	if got := w.ahead.Load(); got > 101 {
		t.Errorf("a renewal or a limit was %d units ahead of the clock", got)
	}
	if got := s.Stats(g); got.RenewFailures != w.skewed.Load() {
		t.Errorf("Stats = %+v, want no failure but %d refusals", got, w.skewed.Load())
	}
}

// invalidate has g take another worker ID, and waits for it.
func invalidate(g Generator) {
	g.Invalidate()
	synctest.Wait()
}

// wrongReading has a clock that is a year ahead in one reading, whichever that is. It costs a start
// or one call of Next, and is forgotten.
func (s *suite) wrongReading(t *testing.T) {
	const readings = 40
	started := 0
	for wrong := range int64(readings) {
		synctest.Test(t, func(t *testing.T) {
			var reads atomic.Int64
			w := newWarden()
			g, err := s.make(t, s.config(keeper.Settings{Assigner: w, Epoch: w.epoch, Now: func() time.Time {
				if reads.Add(1) == wrong+1 {
					return time.Now().Add(year)
				}
				return time.Now()
			}}))
			if errors.Is(err, leasestore.ErrClockSkew) {
				return
			}
			testkit.Close(t, g, err)
			started++
			s.keepsTime(t, w, g)
			for range 4 {
				s.Stats(g)
				invalidate(g)
				s.keepsTime(t, w, g)
			}
			if n := w.misled.Load(); n > s.Misled {
				t.Errorf("reading %d: %d requests a year ahead, want at most %d", wrong, n, s.Misled)
			}
		})
	}
	if started < readings-1 {
		t.Errorf("%d of %d generators have started, want all but one", started, readings)
	}
}
