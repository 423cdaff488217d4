package cached

import (
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
)

// Trace holds funcs for rare events; each may be nil. None is called on the way of an ID that the
// ring has, none under a lock. They are called by the goroutine that met the event, possibly
// several at once, and hold it up while they run. A panic in one is recovered and logged; it must
// not end its goroutine (runtime.Goexit).
type Trace struct {
	// Padded is called after a padding pass that put at least one block. A pass puts at most 256; a
	// larger ring takes several passes.
	Padded func(PaddedInfo)
	// PutRejected is called when a padding pass had to leave slots free: ErrTooFarAhead,
	// ErrLeaseExhausted, ErrTimeExhausted.
	PutRejected func(err error)
	// TakeRejected is called when Next or Fill returns an error other than ErrClosed.
	TakeRejected func(err error)
	// Expiring is called once, when less than a year is left until the delta field is used up.
	Expiring func(expires time.Time)
	// LeaseAssigned is called when a worker ID was taken: by New, and after one was lost.
	LeaseAssigned func(assigner.Grant)
	// LeaseLost is called when the lease on the worker ID has ended. The generator takes another. A
	// grant with a fence is used up meanwhile, unless the store may hand it out again.
	LeaseLost func(workerID int64, err error)
	// RenewFailed is called when a call to the store of worker IDs failed. It is tried again.
	RenewFailed func(err error)
	// LeaseKept is called when the store answers again after that, and the worker ID is still this
	// generator's.
	LeaseKept func(workerID int64)
}

// PaddedInfo describes a padding pass.
type PaddedInfo struct {
	Blocks    int   // put by this pass
	LastDelta int64 // of the newest
	Inline    bool  // done by a caller that had found the ring empty
}

// report calls a func of Trace. It must not be called under a lock.
func report[T any](g *Generator, name string, f func(T), value T) {
	if f != nil {
		keeper.Call(g.cfg.Logger, "Trace."+name, func() { f(value) })
	}
}
