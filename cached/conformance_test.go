package cached_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestConformance(t *testing.T) {
	config := func(c gentest.Config) cached.Config {
		return cached.Config{
			Layout:        c.Layout,
			Epoch:         c.Epoch,
			DatacenterID:  c.DatacenterID,
			Assigner:      c.Assigner,
			AllowReuse:    c.AllowReuse,
			AssignTimeout: c.AssignTimeout,
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
	}
	gentest.Run(t, gentest.Subject{
		Package:  "cached",
		Policies: int(cached.Reject) + 1,
		New: func(ctx context.Context, c gentest.Config) (gentest.Generator, error) {
			return cached.NewContext(ctx, config(c))
		},
		Validate: func(c gentest.Config) error { return config(c).Validate() },
		Stats: func(g gentest.Generator) gentest.Stats {
			s := g.(*cached.Generator).Stats()
			return gentest.Stats{
				WorkerID: s.WorkerID, DatacenterID: s.DatacenterID, Guarantee: s.Guarantee, LastGranted: s.LastGranted, Window: s.Window, WindowLasts: s.WindowLasts,
				RejectedTakes: s.RejectedTakes, Renewals: s.Renewals, RenewFailures: s.RenewFailures,
				LastDelta: s.LastDelta, Ahead: s.Ahead, Expires: s.Expires,
			}
		},
		Lock:    func(g gentest.Generator) (unlock func()) { return g.(*cached.Generator).LockPadding() },
		Used:    func(g gentest.Generator) { g.(*cached.Generator).Used() },
		Off:     time.Minute,
		Gapless: true,
	})
}
