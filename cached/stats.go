package cached

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// Stats is a snapshot of a Generator. Counters count from New on.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee // of the worker ID
	Limit        int64              // highest delta the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until Limit; 0 without a fence
	WindowLasts  time.Duration      // real time that it lasts at the present rate of use

	Capacity  int   // IDs in a full ring
	Remaining int   // IDs in the ring and in lanes now
	Issued    int64 // IDs returned
	Retired   int64 // IDs dropped because they were stale, or at Close, Invalidate, the loss of a worker ID and the end of a Lane
	Dropped   int64 // IDs spent by callers that stalled inside a take; 0 but in extreme cases

	PaddingPasses int64 // that put at least one run, inline ones included
	InlinePads    int64 // runs put by callers that had found the ring empty
	RejectedTakes int64 // errors returned by Next, NextContext and Fill, but ErrClosed
	RejectedPuts  int64 // padding passes that had to leave slots free
	Renewals      int64 // of the worker ID
	RenewFailures int64 // failed calls to the store of worker IDs

	LastDelta int64         // up to which ID time is used, in units since the epoch
	Ahead     time.Duration // LastDelta less Config.Now; negative when behind
	Expires   time.Time     // when the delta field is used up at the pace of the clock
	Expiring  bool          // less than a year is left
}

// Stats returns a snapshot. It costs nothing to the callers of Next; it waits for a padding pass that is under
// way, and visits every slot of the ring.
func (g *Generator) Stats() Stats {
	now := g.cfg.Now()
	g.running.Lock()
	counts := g.ring.Counts()
	left, retired := g.inLanes()
	last := g.lastSecond.Load()
	g.running.Unlock()
	h := g.tenure.Latest()
	position := max(last, g.alloc.Delta(now)) // an idle generator goes on from the clock
	renewals, failures := g.tenure.Counts()
	return Stats{
		WorkerID:      h.WorkerID,
		DatacenterID:  g.cfg.DatacenterID,
		Guarantee:     h.Guarantee,
		Limit:         h.Limit,
		Window:        h.Window(position, g.alloc),
		WindowLasts:   h.WindowLasts(position, g.alloc),
		Capacity:      g.ring.Cap(),
		Remaining:     int(counts.Remaining + left),
		Issued:        int64(counts.Issued - left - retired), // to the ring, what a lane takes is issued
		Retired:       int64(counts.Retired + retired),
		Dropped:       int64(counts.Dropped),
		PaddingPasses: g.passes.Load(),
		InlinePads:    g.inlinePads.Load(),
		RejectedTakes: g.rejectedTakes.Load(),
		RejectedPuts:  g.rejectedPuts.Load(),
		Renewals:      renewals,
		RenewFailures: failures,
		LastDelta:     last,
		Ahead:         g.alloc.Time(last).Sub(now),
		Expires:       g.alloc.Expires(),
		Expiring:      position >= g.warnFrom,
	}
}
