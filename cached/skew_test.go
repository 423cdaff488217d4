package cached_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

const year = 365 * 24 * time.Hour

// A warden is a store with a clock of its own, the bubble's. It refuses to give a worker ID to a
// host whose clock is more than a minute off, and grants 60 to 100 units above its clock and use.
type warden struct {
	fakeassigner.Assigner
	called  func(nth int) // by Assign before it looks at the clock, unless nil
	checked func()        // and after
	ahead   atomic.Int64  // the furthest that a renewal was ahead of the clock, in units
}

func (w *warden) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	w.OnAssign = func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if w.called != nil {
			w.called(nth)
		}
		now := w.now()
		if off := d.Now() - now; off < -60 || off > 60 {
			return assigner.Grant{}, fmt.Errorf("%w: by %d units", assigner.ErrClockSkew, off)
		}
		if w.checked != nil {
			w.checked()
		}
		return assigner.Grant{WorkerID: worker(), First: now + 1, Limit: now + 38, Guarantee: assigner.GuaranteeFenced, Reusable: true}, nil
	}
	w.OnRenew = func(_ context.Context, g *assigner.Grant, used, want int64) error {
		w.ahead.Store(max(w.ahead.Load(), max(used, want)-w.now()))
		g.Limit = max(g.Limit, w.now()+60, min(want, max(used, w.now())+100))
		return nil
	}
	return w.Assigner.Assign(ctx, d)
}

func (w *warden) now() int64 { return int64(time.Since(bubbleEpoch()) / time.Second) }

// keepsTime takes IDs for some minutes and asks that they and the renewals are close to the clock.
func (w *warden) keepsTime(t *testing.T, g *cached.Generator) {
	t.Helper()
	for range 100 {
		id, err := g.NextContext(t.Context())
		if f := parse(t, g, id); err != nil || time.Until(f.Time).Abs() > time.Minute {
			t.Fatalf("%v, %v at %v, want an ID of the present", f, err, time.Now())
		}
		time.Sleep(3 * time.Second)
	}
	if got := w.ahead.Load(); got > 100 {
		t.Errorf("a renewal was %d units ahead of the clock", got)
	}
}

// A clock that is a year ahead until a worker ID is taken, and again until another is, leaves no
// trace.
func TestAClockThatIsCorrectedBeforeTheWorkerIDIsTaken(t *testing.T) {
	for name, plain := range map[string]bool{"assigner that looks at the clock": false, "assigner that does not": true} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				var by atomic.Int64
				by.Store(int64(year))
				w := &warden{called: func(int) { by.Store(0) }}
				cfg := cached.Config{Assigner: w, OnEmpty: policy, Now: func() time.Time { return time.Now().Add(time.Duration(by.Load())) }}
				if plain {
					cfg.Assigner = &fakeassigner.Assigner{OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
						by.Store(0)
						return fresh(ctx, n, d)
					}}
				}
				g := inBubble(t, cfg)
				w.keepsTime(t, g)
				by.Store(int64(year))
				g.Invalidate()
				synctest.Wait()
				w.keepsTime(t, g)
			})
		})
	}
}

// The generator goes on from the reading that the assigner has looked at, not from a clock set
// after that.
func TestAClockThatIsSetAfterTheWorkerIDIsTaken(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		var by atomic.Int64
		w := &warden{called: func(int) { by.Store(0) }, checked: func() { by.Store(int64(year)) }}
		g := inBubble(t, cached.Config{Assigner: w, OnEmpty: policy, Now: func() time.Time { return time.Now().Add(time.Duration(by.Load())) }})
		w.keepsTime(t, g)
		g.Invalidate()
		synctest.Wait()
		w.keepsTime(t, g)
	})
}

// A clock that is a year ahead in one reading, whichever that is, costs a start at most.
func TestAClockThatIsWrongInOneReading(t *testing.T) {
	started := 0
	for wrong := range int64(12) {
		synctest.Test(t, func(t *testing.T) {
			var reads atomic.Int64
			w := &warden{}
			cfg := cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), Assigner: w, Now: func() time.Time {
				if reads.Add(1) == wrong+1 {
					return time.Now().Add(year)
				}
				return time.Now()
			}}
			g, err := cached.New(cfg)
			if errors.Is(err, assigner.ErrClockSkew) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			started++
			for range 5 {
				w.keepsTime(t, g)
				g.Stats()
				g.Invalidate()
				synctest.Wait()
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if started < 11 {
		t.Errorf("%d of 12 generators have started, want all but one", started)
	}
}

func TestAClockOutsideTheLayoutIsAMistake(t *testing.T) {
	for name, row := range map[string]struct {
		now  time.Time
		want error
	}{
		"before the epoch": {bubbleEpoch().Add(-time.Hour), cached.ErrInvalidConfig},
		"after the end":    {bubbleEpoch().Add(10 * year), cached.ErrTimeExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeassigner.Assigner{OnAssign: fresh}
			_, err := cached.New(cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), Assigner: s, Now: func() time.Time { return row.now }})
			if !errors.Is(err, row.want) || s.Assigns.Load() != 0 {
				t.Errorf("New = %v after %d calls of Assign, want %v before the first", err, s.Assigns.Load(), row.want)
			}
		})
	}
}
