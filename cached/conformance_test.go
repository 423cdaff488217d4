package cached_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestConformance(t *testing.T) { gentest.Run(t, subject()) }

func TestScripts(t *testing.T) { gentest.Scripts(t, subject()) }

func subject() gentest.Subject {
	return gentest.Subject{
		Package:  "cached",
		Policies: []string{"inline", "reject"},
		New: func(ctx context.Context, c gentest.Config) (gentest.Generator, error) {
			if c.StartTimeout != 0 {
				return cached.New(config(c))
			}
			return cached.NewContext(ctx, config(c))
		},
		Validate: func(c gentest.Config) error { return config(c).Validate() },
		Lock:     func(g gentest.Generator) (unlock func()) { return g.(*cached.Generator).LockPadding() },
		Used:     func(g gentest.Generator) { g.(*cached.Generator).Used() },
		Lane:     func(g gentest.Generator) func() (int64, error) { return g.(*cached.Generator).Lane().Next },
		Text:     text,
		Off:      time.Minute,
		Gapless:  true,
		Commands: map[string]func(gentest.Generator, testkit.Words) (string, error){
			"refill": func(g gentest.Generator, _ testkit.Words) (string, error) { return "", g.(*cached.Generator).Refill() },
			"begin": func(g gentest.Generator, _ testkit.Words) (string, error) {
				g.(*cached.Generator).BeginBlock()
				return "", nil
			},
		},
	}
}

// config returns the Config for the suite or for a script, whose words boost, factor, interval,
// stale and ahead set fields.
func config(c gentest.Config) cached.Config {
	cfg := cached.Config{
		Layout:        c.Layout,
		Epoch:         c.Epoch,
		DatacenterID:  c.DatacenterID,
		Assigner:      c.Assigner,
		AllowReuse:    c.AllowReuse,
		AssignTimeout: c.AssignTimeout,
		StartTimeout:  c.StartTimeout,
		Logger:        c.Logger,
		Now:           c.Now,
		Trace: cached.Trace{
			TakeRejected:  c.Trace.TakeRejected,
			LeaseAssigned: c.Trace.LeaseAssigned,
			LeaseLost:     c.Trace.LeaseLost,
			RenewFailed:   c.Trace.RenewFailed,
			LeaseKept:     c.Trace.LeaseKept,
		},
		OnEmpty: cached.EmptyPolicy(c.Policy),
		// Tests wait for the store, and then use up the grant.
		MaxStaleness: time.Minute,
	}
	if c.Padded != nil {
		cfg.Trace.Padded = func(i cached.PaddedInfo) { c.Padded(i.Blocks) }
	}
	c.Words.Set("boost", &cfg.BoostPower)
	c.Words.Set("factor", &cfg.PaddingFactor)
	c.Words.Set("interval", &cfg.ScheduleInterval)
	c.Words.Set("stale", &cfg.MaxStaleness)
	c.Words.Set("ahead", &cfg.MaxAhead)
	return cfg
}

// text returns the text of an error without ErrEmpty, which comes with the other errors that pass
// under Reject.
func text(policy int, err error) string {
	passes := errors.Is(err, cached.ErrTooFarAhead) || errors.Is(err, cached.ErrLeaseExhausted)
	switch reject := policy == int(cached.Reject); {
	case reject && passes && !errors.Is(err, cached.ErrEmpty):
		return err.Error() + " (without ErrEmpty)"
	case reject:
		return strings.ReplaceAll(err.Error(), cached.ErrEmpty.Error()+": ", "")
	}
	return err.Error()
}
