package cached

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// Trace holds funcs for rare events; each may be nil. The goroutine that meets the event calls the
// func, under no lock, and waits for it. Several goroutines may call a func at once. An ID that the
// ring has ready causes no call. A panic in a func is recovered and logged; a func must not call
// runtime.Goexit.
type Trace struct {
	// Padded is called after a padding pass, with the number of blocks that it put, at least one.
	Padded func(blocks int)
	// PutRejected is called when a padding pass had to leave slots free: ErrTooFarAhead,
	// ErrTimeExhausted, and ErrLeaseExhausted when the ring is empty or no worker ID is held.
	PutRejected func(err error)
	// TakeRejected is called when a method that issues IDs returns an error other than ErrClosed.
	TakeRejected func(err error)
	// Expiring is called once, when less than a year is left until the delta field is used up.
	Expiring func(expires time.Time)
	// LeaseAssigned is called when the generator has taken a worker ID: in New, and after a loss.
	LeaseAssigned func(assigner.Grant)
	// LeaseLost is called when the lease of the worker ID has ended. The generator takes another.
	// Meanwhile it uses up a grant with a fence, unless the store may hand out the same deltas
	// again.
	LeaseLost func(workerID int64, err error)
	// RenewFailed is called when a call to the store of worker IDs failed. The generator retries.
	RenewFailed func(err error)
	// LeaseKept is called when the store answers again after that, and the generator has kept its
	// worker ID.
	LeaseKept func(workerID int64)
}
