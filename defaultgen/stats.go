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
	Limit        int64              // highest delta that the worker ID may be used with; assigner.Unlimited without a fence
	Window       time.Duration      // ID time left until Limit; 0 without a fence or a grant
	WindowLasts  time.Duration      // real time until Limit at the present rate of use

	RejectedTakes int64 // errors returned by methods that issue IDs, except ErrClosed
	Renewals      int64 // of the lease
	RenewFailures int64 // failed calls to the store of worker IDs

	LastDelta int64         // of the last ID, in units since the epoch
	Ahead     time.Duration // how far LastDelta is ahead of Config.Now; negative when behind
	Expires   time.Time     // end of the delta field
}

// Stats returns a snapshot. It does not slow down callers of Next.
func (g *Generator) Stats() Stats {
	now := g.keeper.Now()
	return Stats(g.keeper.Stats(g.unit.Load().delta, now))
}
