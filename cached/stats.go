package cached

import (
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/ringbuffer"
)

// Stats is a snapshot of a Generator. Counters start at 0 in New.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee // of the worker ID
	Limit        int64              // highest delta that the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until Limit; 0 without a fence or a grant
	WindowLasts  time.Duration      // real time until Limit at the present rate of use

	Capacity  int   // IDs in a full ring
	Remaining int   // IDs in the ring and in lanes now
	Issued    int64 // IDs returned; calls in flight can make it too low by their IDs, but never too high
	Retired   int64 // IDs dropped as stale, or at Close, Invalidate, the loss of a worker ID and the end of a Lane
	Retiring  int   // IDs of retired blocks in lanes; the next call on each lane adds them to Retired

	PaddingPasses int64 // that put at least one block, inline ones included
	InlinePads    int64 // blocks put by callers that found the ring empty
	RejectedTakes int64 // errors returned by methods that issue IDs, except ErrClosed
	RejectedPuts  int64 // padding passes that had to leave slots free, unless the ring has IDs up to Limit
	Renewals      int64 // of the lease
	RenewFailures int64 // failed calls to the store of worker IDs

	LastDelta int64         // highest delta that blocks have used or skipped
	Ahead     time.Duration // how far LastDelta is ahead of Config.Now; negative when behind
	Expires   time.Time     // end of the delta field at the pace of the clock
	Expiring  bool          // less than a year is left
}

// Stats returns a snapshot. It waits for a padding pass in progress. It does not delay callers of
// Next while the ring has an ID; a caller that finds the ring empty may wait for it.
func (g *Generator) Stats() Stats {
	now := g.keeper.Now()
	g.running.Lock()
	counts := g.ring.Counts()
	lanes := g.inLanes()
	shown := g.show(counts, lanes)
	last, begun := g.lastSecond.Load(), g.begun()
	g.running.Unlock()
	s := g.keeper.Stats(last, now)
	s.Window, s.WindowLasts = g.keeper.Window(max(begun, g.alloc.Delta(now)))
	return Stats{
		WorkerID:      s.WorkerID,
		DatacenterID:  s.DatacenterID,
		Guarantee:     s.Guarantee,
		Limit:         s.Limit,
		Window:        s.Window,
		WindowLasts:   s.WindowLasts,
		Capacity:      g.ring.Slots() << g.alloc.Layout().SequenceBits,
		Remaining:     int(counts.Remaining + lanes.left),
		Issued:        shown.issued,
		Retired:       shown.retired,
		Retiring:      int(lanes.retiring),
		PaddingPasses: g.passes.Load(),
		InlinePads:    g.inlinePads.Load(),
		RejectedTakes: s.RejectedTakes,
		RejectedPuts:  g.rejectedPuts.Load(),
		Renewals:      s.Renewals,
		RenewFailures: s.RenewFailures,
		LastDelta:     s.LastDelta,
		Ahead:         s.Ahead,
		Expires:       s.Expires,
		Expiring:      s.Expiring,
	}
}

// A tally holds the highest counters that Stats has shown.
type tally struct{ issued, retired int64 }

// show keeps the derived counters monotonic, as monitoring expects. Takes in flight can make a
// reading too low but never too high, so show returns the maximum so far. The caller holds running.
func (g *Generator) show(c ringbuffer.Counts, lanes count) tally {
	// The ring counts all IDs of a block as issued when a lane takes it.
	issued := int64(c.Issued - lanes.left - lanes.retiring - lanes.retired)
	g.shown.issued = max(g.shown.issued, issued)
	g.shown.retired = max(g.shown.retired, int64(c.Retired+lanes.retired))
	return g.shown
}
