package defaultgen_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestEachMistakeIsNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*defaultgen.Config)
		is    error
		want  []string
	}{
		{"policy above", func(c *defaultgen.Config) { c.OnClockBack = defaultgen.GoOn + 1 }, defaultgen.ErrInvalidConfig,
			[]string{"OnClockBack 2", "Fail, GoOn"}},
		{"policy below", func(c *defaultgen.Config) { c.OnClockBack = -1 }, defaultgen.ErrInvalidConfig, []string{"OnClockBack -1"}},
		{"start above", func(c *defaultgen.Config) { c.SequenceStart = defaultgen.Zero + 1 }, defaultgen.ErrInvalidConfig,
			[]string{"SequenceStart 2", "Even, Zero"}},
		{"start below", func(c *defaultgen.Config) { c.SequenceStart = -1 }, defaultgen.ErrInvalidConfig, []string{"SequenceStart -1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh}
			cfg := complete(defaultgen.Config{Assigner: store})
			cfg.Now = newFakeClock(gentest.Start.AddDate(1, 0, 0)).now
			c.spoil(&cfg)
			g, err := defaultgen.New(cfg)
			if g != nil || !errors.Is(err, c.is) {
				t.Fatalf("New = %v, %v, want %v", g, err, c.is)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
			if n := store.Assigns.Load(); n != 0 {
				t.Errorf("%d worker IDs were taken", n)
			}
		})
	}
}

func TestEpochOfThisInstantIsAllowedAndUnitZeroIsLeftOut(t *testing.T) {
	for _, first := range []int64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var g *defaultgen.Generator
			if d := gentest.Elapsed(func() {
				g = open(t, defaultgen.Config{Epoch: gentest.Start, Assigner: &fakeassigner.Assigner{
					OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
						return assigner.Grant{WorkerID: 0, First: first, Limit: assigner.Unlimited - 1}, nil
					},
				}})
				checkAt(t, wait(t, g), 1, 0)
			}); d != time.Second {
				t.Errorf("the first ID took %v, want 1s", d)
			}
		})
	}
}

func TestReusedWorkerIsRefusedOnlyWhereIDsRunAhead(t *testing.T) {
	for _, c := range []struct {
		policy  defaultgen.ClockBackPolicy
		allow   bool
		source  assigner.Assigner
		refused bool
	}{
		{defaultgen.Fail, false, reused(), false},
		{defaultgen.GoOn, false, reused(), true},
		{defaultgen.GoOn, true, reused(), false},
		{defaultgen.GoOn, false, &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh}, false},
		{defaultgen.GoOn, false, &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(10)}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, err := defaultgen.New(complete(defaultgen.Config{
				Assigner: c.source, OnClockBack: c.policy, AllowReuse: c.allow,
			}))
			if errors.Is(err, assigner.ErrUnfencedReuse) != c.refused || (err != nil) != c.refused {
				t.Errorf("%+v: New: %v", c, err)
			}
			for _, way := range []string{"OnClockBack Fail", "AllowReuse", "fresh or fenced"} {
				if c.refused && !strings.Contains(err.Error(), way) {
					t.Errorf("error %q, want the way out %q in it", err, way)
				}
			}
			if err == nil {
				next(t, g)
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
