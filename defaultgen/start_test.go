package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// New waits for the next unit if an earlier process may have used this one. It waits neither for a
// fresh worker ID nor for a fence that has begun, and no longer than a unit.
func TestNewWaitsForTheFirstUnitUpToOneUnit(t *testing.T) {
	fence := func(ahead int64) assigner.Assigner {
		return &fakeassigner.Assigner{OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 3, First: d.Now() + ahead, Last: d.Now() + 2000, Guarantee: assigner.GuaranteeFenced}, nil
		}}
	}
	for name, row := range map[string]struct {
		source assigner.Assigner
		into   time.Duration // of a unit, when New is called
		wait   time.Duration // that New takes
		units  time.Duration // from Start to the first ID
	}{
		"fresh":              {&fakeassigner.Assigner{}, 1, 0, 0},
		"fence that begins":  {fence(0), 1, 0, 0},
		"fence of the next":  {fence(1), 300, 999_700, 1},
		"fence after that":   {fence(2), 300, 1_000_000, 2},
		"fence far away":     {fence(1000), 300, 1_000_000, 1000},
		"reused":             {reused(), 0, 1_000_000, 1},
		"reused, in between": {reused(), 1, 999_999, 1},
		"reused, at the end": {reused(), 999_999, 1, 1},
	} {
		for _, unit := range []time.Duration{time.Millisecond, time.Minute} {
			testkit.Bubble(t, fmt.Sprint(name, ", units of ", unit), func(t *testing.T) {
				time.Sleep(row.into * unit / 1_000_000)
				var g *defaultgen.Generator
				if d := gentest.Elapsed(func() {
					g = open(t, defaultgen.Config{Layout: narrow(unit), Assigner: row.source, AllowReuse: true, OnClockBack: defaultgen.GoOn})
				}); d != row.wait*unit/1_000_000 {
					t.Errorf("New took %v, want %v", d, row.wait*unit/1_000_000)
				}
				if f := wait(t, g); !f.Time.Equal(gentest.Start.Add(row.units*unit)) || f.Sequence != 0 {
					t.Errorf("first ID %v, want the beginning of unit %d", f, row.units)
				}
			})
		}
	}
}

// When ctx ends while New waits, the lease is released, no goroutine stays (the bubble would not
// end), and the worker ID is free for the next generator.
func TestNewLeavesNothingBehindWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := errors.New("store out of reach")
		store := &fakeassigner.Assigner{
			OnAssign:  gentest.Always(assigner.Grant{WorkerID: 5, First: 1, Last: assigner.Unlimited, Reusable: true}),
			OnRelease: func(context.Context, assigner.Grant, int64) error { return refusal },
		}
		cfg := complete(defaultgen.Config{Layout: narrow(time.Minute), Assigner: store})
		for _, deadline := range []time.Duration{10 * time.Second, time.Hour} { // the first is over before the unit is: an error at once
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			time.AfterFunc(20*time.Second, cancel)
			began := time.Now()
			g, err := defaultgen.NewContext(ctx, cfg)
			if d := time.Since(began); g != nil || d != deadline.Truncate(time.Hour)/180 || ctx.Err() != nil != (d > 0) || !errors.Is(err, refusal) {
				t.Errorf("NewContext = %v, %v after %v, want the end of the context and the error of the release", g, err, d)
			}
		}
		store.OnRelease = nil
		next(t, open(t, cfg))
	})
}

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (func() (int64, error), error) {
		g, err := defaultgen.New(defaultgen.Config{Epoch: epoch, Assigner: assigner.Static(7)})
		return func() (int64, error) { return g.NextContext(context.Background()) }, err
	})
}

// A real process with a static worker ID is killed as soon as it has printed IDs, and started again
// within the same second.
func TestProcessThatIsKilledAndRestartedRepeatsNoID(t *testing.T) {
	gentest.RestartsIncrease(t, 3, 100)
}
