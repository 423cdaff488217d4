package defaultgen_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestConformance(t *testing.T) {
	config := func(c gentest.Config) defaultgen.Config {
		return defaultgen.Config{
			Layout:        c.Layout,
			Epoch:         c.Epoch,
			DatacenterID:  c.DatacenterID,
			Assigner:      c.Assigner,
			AllowReuse:    c.AllowReuse,
			AssignTimeout: c.AssignTimeout,
			Logger:        c.Logger,
			Now:           c.Now,
			Trace:         defaultgen.Trace(c.Trace),
			OnClockBack:   defaultgen.ClockBackPolicy(c.Policy),
		}
	}
	gentest.Run(t, gentest.Subject{
		Package:  "defaultgen",
		Policies: int(defaultgen.GoOn) + 1,
		New: func(ctx context.Context, c gentest.Config) (gentest.Generator, error) {
			return defaultgen.NewContext(ctx, config(c))
		},
		Validate: func(c gentest.Config) error { return config(c).Validate() },
		Stats:    func(g gentest.Generator) gentest.Stats { return gentest.Stats(g.(*defaultgen.Generator).Stats()) },
		Lock:     func(g gentest.Generator) (unlock func()) { return g.(*defaultgen.Generator).LockUnit() },
		Used:     func(g gentest.Generator) { g.(*defaultgen.Generator).Used() },
		Off:      time.Second,
		Misled:   1,
	})
}
