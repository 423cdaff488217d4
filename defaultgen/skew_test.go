package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

const year = 365 * 24 * time.Hour

// A warden is a store with a clock of its own, the bubble's. It refuses to give a worker ID to a
// host whose clock is more than a minute off, and grants 60 to 100 units above its clock and use.
type warden struct {
	fakeassigner.Assigner
	epoch  time.Time
	called func()       // by Assign before it looks at the clock, unless nil
	limit  atomic.Int64 // how far the highest limit was ahead of the clock, in units
	wishes atomic.Int64 // renewals that were wanted half a year ahead
}

func newWarden() *warden {
	w := &warden{epoch: newEpoch()}
	w.OnAssign = func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if w.called != nil {
			w.called()
		}
		now := w.now()
		if off := d.Now() - now; off < -60 || off > 60 {
			return assigner.Grant{}, fmt.Errorf("%w: by %d units", assigner.ErrClockSkew, off)
		}
		return assigner.Grant{WorkerID: int64(nth), First: now, Limit: now + 38, Guarantee: assigner.GuaranteeFenced, Reusable: true}, nil
	}
	w.OnRenew = func(_ context.Context, g *assigner.Grant, used, want int64) error {
		if used > g.Limit {
			return fmt.Errorf("used %d of a grant up to %d", used, g.Limit)
		}
		if want-w.now() > int64(year/time.Second/2) {
			w.wishes.Add(1)
		}
		g.Limit = max(g.Limit, w.now()+60, min(want, max(used, w.now())+100))
		w.limit.Store(max(w.limit.Load(), g.Limit-w.now()))
		return nil
	}
	return w
}

func (w *warden) now() int64 { return int64(time.Since(w.epoch) / time.Second) }

// keepsTime takes IDs for some minutes and asks that they are of the present. Where one reading of
// the clock is wrong, one call of Next may find no ID.
func (w *warden) keepsTime(t *testing.T, g *defaultgen.Generator) {
	t.Helper()
	failures := 0
	for range 100 {
		id, err := g.Next()
		if err != nil {
			failures++
			if !errors.Is(err, defaultgen.ErrLeaseExhausted) || failures > 1 {
				t.Fatalf("Next: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if id, err = g.NextContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		checkTime(t, parse(t, g, id), time.Now(), time.Second)
		time.Sleep(3 * time.Second)
	}
	if got := w.limit.Load(); got > 101 {
		t.Errorf("the limit was %d units ahead of the clock", got)
	}
	if s := g.Stats(); s.RenewFailures != 0 {
		t.Errorf("Stats = %+v, want no failure", s)
	}
}

// A clock that is a year ahead until a worker ID is taken leaves no trace.
func TestAClockThatIsCorrectedBeforeTheWorkerIDIsTaken(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		for name, plain := range map[string]bool{"assigner that looks at the clock": false, "assigner that does not": true} {
			t.Run(fmt.Sprintf("%s, policy %d", name, policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var by atomic.Int64
					by.Store(int64(year))
					w := newWarden()
					w.called = func() { by.Store(0) }
					cfg := defaultgen.Config{Assigner: w, Epoch: w.epoch, OnClockBack: policy, Now: skewed(&by)}
					if plain {
						cfg.Assigner = &fakeassigner.Assigner{OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
							by.Store(0)
							return fakeassigner.Fresh(ctx, n, d)
						}}
					}
					w.keepsTime(t, open(t, cfg))
					if n := w.wishes.Load(); n != 0 {
						t.Errorf("%d renewals were wanted a year ahead", n)
					}
				})
			})
		}
	}
}

// The same when the worker ID is lost and the clock wrong until the next is taken.
func TestAClockThatIsCorrectedBeforeTheNextWorkerIDIsTaken(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		synctest.Test(t, func(t *testing.T) {
			var by atomic.Int64
			w := newWarden()
			w.called = func() { by.Store(0) }
			renew := w.OnRenew
			w.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
				if w.Assigns.Load() == 1 && time.Since(bubbleStart) > time.Minute {
					by.Store(int64(year))
					return errors.Join(assigner.ErrWorkerRowLost, assigner.ErrFenceRegressed)
				}
				return renew(ctx, g, used, want)
			}
			g := open(t, defaultgen.Config{Assigner: w, Epoch: w.epoch, OnClockBack: policy, Now: skewed(&by)})
			w.keepsTime(t, g)
			if w.Assigns.Load() != 2 {
				t.Errorf("%d worker IDs, want 2", w.Assigns.Load())
			}
		})
	}
}

// A clock that is a year ahead in one reading, whichever that is, costs a start or one call of
// Next, and is forgotten.
func TestAClockThatIsWrongInOneReading(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		started := 0
		for wrong := range int64(40) {
			synctest.Test(t, func(t *testing.T) {
				var reads atomic.Int64
				w := newWarden()
				cfg := complete(defaultgen.Config{Assigner: w, Epoch: w.epoch, OnClockBack: policy, Now: func() time.Time {
					if reads.Add(1) == wrong+1 {
						return time.Now().Add(year)
					}
					return time.Now()
				}})
				g, err := defaultgen.New(cfg)
				if errors.Is(err, assigner.ErrClockSkew) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				started++
				t.Cleanup(func() {
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				})
				w.keepsTime(t, g)
				if n := w.wishes.Load(); n > 1 {
					t.Errorf("reading %d, policy %d: %d renewals were wanted a year ahead, want one at most", wrong, policy, n)
				}
			})
		}
		if started < 39 {
			t.Errorf("%d of 40 generators have started, want all but one", started)
		}
	}
}
