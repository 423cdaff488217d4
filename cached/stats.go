package cached

import (
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/ringbuffer"
)

// Stats is a snapshot of a Generator. Counters count from New on.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee // of the worker ID
	Limit        int64              // highest delta the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until Limit; 0 without a fence, and when there is no grant
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
	shown := g.show(counts, left, retired)
	last := g.lastSecond.Load()
	g.running.Unlock()
	h := g.tenure.Latest()
	position := max(last, g.alloc.Delta(now)) // an idle generator goes on from the clock
	window, lasts := g.tenure.Window(position, g.alloc)
	renewals, failures := g.tenure.Counts()
	return Stats{
		WorkerID:      h.WorkerID,
		DatacenterID:  g.cfg.DatacenterID,
		Guarantee:     h.Guarantee,
		Limit:         h.Limit,
		Window:        window,
		WindowLasts:   lasts,
		Capacity:      g.ring.Cap(),
		Remaining:     int(counts.Remaining + left),
		Issued:        shown.issued,
		Retired:       shown.retired,
		Dropped:       shown.dropped,
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

// A tally is what Stats has shown of counters that are derived from words which change meanwhile.
type tally struct{ issued, retired, dropped int64 }

// show returns counters that never go down, as monitoring expects. What is under way makes the derived ones too low, so that the
// highest is right. The caller holds running.
func (g *Generator) show(c ringbuffer.Counts, left, retired uint64) tally {
	g.shown.dropped = max(g.shown.dropped, int64(c.Dropped))
	issued := int64(c.Issued+c.Dropped-left-retired) - g.shown.dropped // to the ring, what a lane takes is issued
	g.shown.issued = max(g.shown.issued, issued)
	g.shown.retired = max(g.shown.retired, int64(c.Retired+retired))
	return g.shown
}
