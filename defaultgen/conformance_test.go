package defaultgen_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestConformance(t *testing.T) { gentest.Run(t, subject()) }

func TestScripts(t *testing.T) { gentest.Scripts(t, subject()) }

func subject() gentest.Subject {
	return gentest.Subject{
		Package:  "defaultgen",
		Policies: []string{"fail", "goon"},
		New: func(ctx context.Context, c gentest.Config) (gentest.Generator, error) {
			switch {
			case slices.Contains(c.Words, "carried"): // by the monotonic clock, as the system's clock is
				return defaultgen.NewCarried(config(c))
			case c.StartTimeout != 0:
				return defaultgen.New(config(c))
			}
			return defaultgen.NewContext(ctx, config(c))
		},
		Validate: func(c gentest.Config) error { return config(c).Validate() },
		Lock:     func(g gentest.Generator) (unlock func()) { return g.(*defaultgen.Generator).LockUnit() },
		Used:     func(g gentest.Generator) { g.(*defaultgen.Generator).Used() },
		Text:     func(_ int, err error) string { return err.Error() },
		Off:      time.Second,
		Misled:   1,
		Commands: map[string]func(gentest.Generator, testkit.Words) (string, error){
			"position": func(g gentest.Generator, _ testkit.Words) (string, error) {
				return fmt.Sprint(g.(*defaultgen.Generator).Position()), nil
			},
			"idle": func(g gentest.Generator, _ testkit.Words) (string, error) {
				return fmt.Sprint(g.(*defaultgen.Generator).Oldest()), nil
			},
			"stalled": func(g gentest.Generator, words testkit.Words) (string, error) {
				_, got := g.(*defaultgen.Generator).Add(words.Number(1))
				return fmt.Sprint(got, " IDs"), nil
			},
		},
	}
}

// config returns the Config for the suite or for a script.
func config(c gentest.Config) defaultgen.Config {
	return defaultgen.Config{
		Layout:        c.Layout,
		Epoch:         c.Epoch,
		DatacenterID:  c.DatacenterID,
		Assigner:      c.Assigner,
		AllowReuse:    c.AllowReuse,
		AssignTimeout: c.AssignTimeout,
		StartTimeout:  c.StartTimeout,
		Logger:        c.Logger,
		Now:           c.Now,
		Trace:         defaultgen.Trace(c.Trace),
		OnClockBack:   defaultgen.ClockBackPolicy(c.Policy),
	}
}
