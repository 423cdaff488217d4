package defaultgen

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// Stats is a snapshot of a Generator. Counters start at 0 in New. Stats does not count IDs: that
// would cost every call another write to shared memory.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee // of the worker ID
	LastGranted  int64              // highest delta that the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until LastGranted; 0 without a fence or a grant
	WindowLasts  time.Duration      // real time until LastGranted at the present rate of use

	RejectedTakes int64 // errors returned by methods that issue IDs, except ErrClosed
	Renewals      int64 // of the lease
	RenewFailures int64 // renewals that failed, and claims after New

	LastDelta int64         // of the current unit; 0 before the first; a renewal moves an idle generator on
	Ahead     time.Duration // how far LastDelta is ahead of Config.Now; negative when behind, 0 before the first unit
	Expires   time.Time     // end of the delta field
}

// Snapshot returns s. With it, s and every struct that embeds it are a metrics.Stats of
// github.com/uidring/uidring/metrics.
func (s Stats) Snapshot() any { return s }

// Stats returns a snapshot. It does not slow down callers of Next.
func (g *Generator) Stats() Stats {
	//mutate:swap Stats combines readings of two moments
	now, last, grant := g.keeper.Now(), g.unit.Load().delta, g.keeper.Latest()
	window, lasts := g.keeper.Window()
	ahead := g.alloc.Time(last).Sub(now)
	if last == 0 {
		ahead = 0
	}
	return Stats{
		WorkerID:      grant.WorkerID,
		DatacenterID:  g.cfg.DatacenterID,
		Guarantee:     grant.Guarantee,
		LastGranted:   grant.Last,
		Window:        window,
		WindowLasts:   lasts,
		RejectedTakes: g.keeper.Rejections.Load(),
		Renewals:      g.keeper.Renewals.Load(),
		RenewFailures: g.keeper.Failures.Load(),
		LastDelta:     last,
		Ahead:         ahead,
		Expires:       g.alloc.Expires(),
	}
}
