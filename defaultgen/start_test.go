package defaultgen_test

import (
	"context"
	"errors"
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

func TestNewWaitsOutTheUnitOfAWorkerThatComesBack(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, time.Minute} {
		for _, into := range []time.Duration{0, 1, unit - 1} {
			for policy := range defaultgen.GoOn + 1 {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(into)
					var g *defaultgen.Generator
					d := gentest.Elapsed(func() {
						g = open(t, defaultgen.Config{
							Layout: narrow(unit), Assigner: reused(), OnClockBack: policy, AllowReuse: true,
						})
					})
					if want := unit - into; d != want {
						t.Errorf("unit %v, %v into it, policy %d: New took %v, want %v", unit, into, policy, d, want)
					}
					f := next(t, g)
					if !f.Time.Equal(gentest.Start.Add(unit)) || f.Sequence != 0 {
						t.Errorf("first ID %v, want the beginning of the second unit", f)
					}
				})
			}
		}
	}
}

// New waits neither for a fresh worker ID nor for a fence that has begun, and no longer than a
// unit.
func TestNewWaitsForTheFirstUnitOfAFenceUpToOneUnit(t *testing.T) {
	fence := func(ahead int64) fakeassigner.AssignFunc {
		return func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 3, First: d.Now() + ahead, Limit: d.Now() + 2000, Guarantee: assigner.GuaranteeFenced}, nil
		}
	}
	for name, row := range map[string]struct {
		assign     fakeassigner.AssignFunc
		wait, unit time.Duration // the time that New takes, and from Start to the unit of the first ID
	}{
		"fresh":      {fakeassigner.Fresh, 0, 0},
		"begun":      {fence(0), 0, 0},
		"next unit":  {fence(1), 700 * time.Millisecond, time.Second},
		"later":      {fence(2), time.Second, 2 * time.Second},
		"much later": {fence(1000), time.Second, 1000 * time.Second},
	} {
		bubble.Run(t, name, func(t *testing.T) {
			time.Sleep(300 * time.Millisecond)
			var g *defaultgen.Generator
			if d := gentest.Elapsed(func() {
				g = open(t, defaultgen.Config{Assigner: &fakeassigner.Assigner{OnAssign: row.assign}, OnClockBack: defaultgen.GoOn})
			}); d != row.wait {
				t.Errorf("New took %v, want %v", d, row.wait)
			}
			if f := wait(t, g); !f.Time.Equal(gentest.Start.Add(row.unit)) {
				t.Errorf("first ID %v", f)
			}
		})
	}
}

// When ctx ends while New waits, the lease is released, no goroutine stays (the bubble would not
// end), and the worker ID is free for the next generator.
func TestNewLeavesNothingBehindWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := errors.New("store out of reach")
		store := &fakeassigner.Assigner{
			OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: 5, First: 1, Limit: assigner.Unlimited, Reusable: true}, nil
			},
			OnRelease: func(context.Context, assigner.Grant, int64) error { return refusal },
		}
		cfg := complete(defaultgen.Config{Layout: narrow(time.Minute), Assigner: store})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		g, err := defaultgen.NewContext(ctx, cfg)
		if d := time.Since(gentest.Start); g != nil || d != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, refusal) {
			t.Errorf("NewContext = %v, %v after %v, want DeadlineExceeded and the error of the release after 10s", g, err, d)
		}
		store.OnRelease = nil
		next(t, open(t, cfg))
	})
}

func TestLeaseThatBeginsWithTheLastUnitIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := complete(defaultgen.Config{
			Layout: bitsalloc.Layout{DeltaBits: 10, WorkerBits: 10, SequenceBits: 4, Unit: time.Second},
			Assigner: &fakeassigner.Assigner{OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: 3, First: 1023, Limit: 1023, Guarantee: assigner.GuaranteeFenced}, nil
			}},
		})
		ahead := cfg.Epoch.Add(1022 * time.Second).Sub(gentest.Start)
		cfg.Now = func() time.Time { return time.Now().Add(ahead) }
		checkAt(t, next(t, open(t, cfg)), 1023, 0)
	})
}
