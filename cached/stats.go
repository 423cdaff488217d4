package cached

import (
	"math"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Stats is a snapshot of a Generator. Counters start at 0 in New.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee // of the worker ID
	LastGranted  int64              // highest delta that the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until LastGranted; 0 without a fence or a grant
	WindowLasts  time.Duration      // real time until LastGranted at the present rate of use

	Capacity  int   // IDs in a full ring; at most the largest int
	Remaining int   // IDs in the ring now
	Issued    int64 // IDs returned, and IDs reserved by lanes
	Retired   int64 // IDs dropped as stale, to begin a block at a scattered sequence number, or at Close, Invalidate and the loss of a worker ID

	PaddingPasses int64 // that put at least one block, inline ones included
	InlinePads    int64 // blocks put by callers that found the ring empty
	RejectedTakes int64 // errors returned by methods that issue IDs, except ErrClosed
	RejectedPuts  int64 // padding passes that had to leave slots free, unless the ring has IDs up to LastGranted
	Renewals      int64 // of the lease
	RenewFailures int64 // renewals that failed, and claims after New

	LastDelta int64         // highest delta that blocks have used or skipped
	Ahead     time.Duration // how far LastDelta is ahead of Config.Now; negative when behind
	Expires   time.Time     // end of the delta field at the pace of the clock
}

// Snapshot returns s. With it, s and every struct that embeds it are a metrics.Stats of
// github.com/uidring/uidring/metrics.
func (s Stats) Snapshot() any { return s }

// Stats returns a snapshot. It waits for a padding pass in progress. It does not delay callers of
// Next while the ring has an ID; a caller that finds the ring empty may wait for it.
func (g *Generator) Stats() Stats {
	now := g.keeper.Now()
	g.running.Lock()
	counts, last := g.ring.Counts(), g.lastSecond
	g.running.Unlock()
	grant := g.keeper.Latest() //mutate:swap Stats combines readings of several moments
	window, lasts := g.keeper.Window()
	bits := g.alloc.Layout().SequenceBits
	return Stats{
		WorkerID:      grant.WorkerID,
		DatacenterID:  g.cfg.DatacenterID,
		Guarantee:     grant.Guarantee,
		LastGranted:   grant.Last,
		Window:        window,
		WindowLasts:   lasts,
		Capacity:      int(min(min(int64(g.ring.Slots()), math.MaxInt64>>bits)<<bits, math.MaxInt)), //mutate:argument for 32 bits
		Remaining:     int(min(counts.Remaining, math.MaxInt)),                                      //mutate:argument for 32 bits
		Issued:        int64(counts.Issued),
		Retired:       int64(counts.Retired),
		PaddingPasses: g.passes.Load(),
		InlinePads:    g.inlinePads.Load(),
		RejectedTakes: g.keeper.Rejections.Load(),
		RejectedPuts:  g.rejectedPuts.Load(),
		Renewals:      g.keeper.Renewals.Load(),
		RenewFailures: g.keeper.Failures.Load(),
		LastDelta:     last,
		Ahead:         g.alloc.Time(last).Sub(now),
		Expires:       g.alloc.Expires(),
	}
}
