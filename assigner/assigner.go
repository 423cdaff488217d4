package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// An Assigner provides worker IDs. Any number of generators may share one, and may call it at once.
// If it has a method Validate() error, the Validate and New of a generator report its mistakes with
// their own.
type Assigner interface {
	// Assign returns a lease on a worker ID for IDs that are composed as d describes. It returns an
	// error soon after ctx has ended: the assigners of this module take a second at most, to give a
	// worker ID back. A generator calls Assign when it starts, and again after it has lost its
	// lease.
	Assign(ctx context.Context, d Domain) (Lease, error)
}

// A Domain describes how a generator composes its IDs. Generators whose IDs meet in one table must
// agree on Layout and Epoch; if they also share a DatacenterID, their worker IDs must differ.
// Stores record the domain and reject another one with [ErrLayoutMismatch]. The generator fills it
// in, with all defaults resolved.
type Domain struct {
	Layout       bitsalloc.Layout
	Epoch        time.Time    // UTC, whole milliseconds
	DatacenterID int64        // 0 when the layout has no such field
	Now          func() int64 // the current delta, by the generator's clock

	// MaxAhead is how far, in units, the generator may issue IDs ahead of Now; math.MaxInt64 if
	// there is no bound. An assigner prefers a worker ID that the generator can use at once. A
	// generator with 0 keeps to the clock: it waits until the first delta of its grant begins.
	MaxAhead int64

	// KeptFor is how long callers of the generator may keep an ID before they use it, such as the
	// clients of an ID service: at most a minute. Horizon of package leasestore stays behind these
	// IDs.
	KeptFor time.Duration

	// Registered promises that the caller calls End on each lease that it stops using. In return,
	// Assign rejects a second generator of this process that would take over the lease of the
	// first.
	Registered bool

	// ReuseError is the reason for which the generator rejects a grant that is Reusable and has no
	// fence, or nil if it accepts one. An assigner that would have to take such a worker ID from
	// another holder returns the error instead.
	ReuseError error
}

// MaxWorkerID returns the largest worker ID that the layout has room for.
func (d Domain) MaxWorkerID() int64 { return 1<<d.Layout.WorkerBits - 1 }

// CheckWorkerID returns [ErrWorkerOutOfRange] when a worker ID does not fit the layout; source
// names the origin of the worker ID in the error text. Never truncate a worker ID that does not
// fit: two hosts may then share one.
func (d Domain) CheckWorkerID(workerID int64, source string) error {
	if workerID < 0 || workerID > d.MaxWorkerID() {
		return fmt.Errorf("%w: %d from %s, allowed with layout %v: 0 to %d",
			ErrWorkerOutOfRange, workerID, source, d.Layout, d.MaxWorkerID())
	}
	return nil
}

// A Lease is the right to a worker ID for a range of deltas. Callers use it from one goroutine at a
// time. A type that embeds a Lease and overrides a method must pass the call on.
type Lease interface {
	// Grant returns the present grant: as Assign made it, or as the last Renew returned it. It does
	// not block.
	Grant() Grant
	// Renew tells the store that the holder lives, checks that the worker ID still belongs to the
	// lease, and returns the grant from now on. When the grant is fenced, Renew raises Last to at
	// least u.Want; a store of GuaranteeLossy may allow less, bounded by its clock, and no store
	// allows a Want that is far above the use of a few windows. Renew changes nothing else of the
	// grant. While it succeeds, the generator calls it about once in RenewWithin, and at least once
	// a minute.
	//
	// ErrWorkerRowLost ends the lease; do not renew it again. The holder of a fenced grant may go
	// on up to the Last that Renew returns with the error, which may be lower than before: its
	// successor starts above it. It must stop at once and drop prepared IDs when the grant has no
	// fence, or when the error is also ErrFenceRegressed or ErrRowMissing of package leasestore.
	// After any other error the lease stands as it was, and Renew returns the unchanged grant.
	Renew(ctx context.Context, u Use) (Grant, error)
	// End ends the lease. With e.Released it gives the worker ID back: the next holder may use all
	// deltas above e.Used. The holder has stopped issuing IDs before, and issues none afterwards,
	// also when End returns an error: the store may carry out the change later. Otherwise the
	// worker ID stays with the lease until the lease expires, and End neither blocks nor accesses
	// the store. After a loss the holder may go on as Renew allows, also after End. Renew returns
	// ErrWorkerRowLost from then on. A second End does nothing.
	End(ctx context.Context, e Ending) error
}

// A Use tells a lease how far its holder is. Deltas outside the grant are allowed, since the
// generator may have had another worker ID before.
type Use struct {
	Used   int64 // the highest delta in use
	Want   int64 // the delta that Last has to reach, if it is above Used
	Oldest int64 // the lowest delta of which the holder may still issue an ID, for Horizon of package leasestore
}

// An Ending tells a lease how its holder ends. The zero Ending is safe after a loss and after
// Invalidate: a copy of the process may go on with the lease.
type Ending struct {
	Released bool  // give the worker ID back
	Used     int64 // if Released: the highest delta of which the holder has issued an ID; lower ones are used up, too
}

// A Grant is a consistent snapshot of the worker ID, the range of deltas and the guarantee of a
// lease.
type Grant struct {
	WorkerID    int64         // 0 to MaxWorkerID of the domain
	First, Last int64         // deltas the holder may use, both inclusive, at least 1; Last is Unlimited when there is no fence
	Guarantee   Guarantee     // protection against a second holder
	Reusable    bool          // the worker ID may be given out again after this process ends
	RenewWithin time.Duration // about the time between the starts of two renewals that succeed; a lease must last at least twice as long; 0: a minute
	Namespace   string        // of the worker ID, for the log; or ""
}

// A LeaseInfo tells a func of a generator's Trace about its lease.
type LeaseInfo struct {
	Grant Grant
	Err   error // the reason, of LeaseLost and RenewFailed
}

// Unlimited is the Last of a grant without a fence.
const Unlimited int64 = math.MaxInt64

// Fenced reports whether the grant has a fence: a Last above which the holder may use no delta.
func (g Grant) Fenced() bool { return g.Last != Unlimited }

// Guarantee is the protection of a worker ID against use by two generators. The constants are
// ordered by strength, and the zero value is the weakest. Compare with the constants and store the
// String: the numbers may change between releases. A guarantee belongs to a grant: an assigner may
// return grants with different guarantees over time.
type Guarantee int

const (
	// GuaranteeDerived: a worker ID from configuration or from the host. Nothing checks it.
	GuaranteeDerived Guarantee = 10 * iota // others fit between
	// GuaranteeSticky: one worker ID per key from a store, reused after a restart, without a fence.
	GuaranteeSticky
	// GuaranteeLossy: fenced, on a store that may forget commits. If that is the nature of the
	// store, as with Redis, safety rests on clocks. If its settings cause it and
	// LeaseConfig.AllowUndurable has accepted them, a crash of the store may lead to duplicate IDs.
	GuaranteeLossy
	// GuaranteeFresh: a worker ID that was never given out before, provided that the store is
	// durable.
	GuaranteeFresh
	// GuaranteeFenced: fenced, on a durable store. Wrong clocks and pauses cannot cause duplicate
	// IDs.
	GuaranteeFenced
)

var guarantees = map[Guarantee]string{
	GuaranteeDerived: "derived", GuaranteeSticky: "sticky", GuaranteeLossy: "lossy", GuaranteeFresh: "fresh", GuaranteeFenced: "fenced",
}

// String returns the name in lower case, such as "derived".
func (g Guarantee) String() string {
	return cmp.Or(guarantees[g], fmt.Sprintf("guarantee(%d)", int(g)))
}

// Errors that assigners and generators return. Each is wrapped in a text that names the worker ID,
// key or row, and the remedy. The errors of package leasestore are about the store.
var (
	// ErrWorkerOutOfRange: the worker ID does not fit the worker field of the layout.
	ErrWorkerOutOfRange = errors.New("assigner: worker ID out of range")
	// ErrWorkerUnknown: the host or the environment provides no number to derive a worker ID from.
	ErrWorkerUnknown = errors.New("assigner: worker ID unknown")
	// ErrWorkerInUse: another live generator holds the worker ID or its key.
	ErrWorkerInUse = errors.New("assigner: worker ID in use")
	// ErrWorkersExhausted: all worker IDs are held or, if the assigner never reuses them, given
	// out.
	ErrWorkersExhausted = errors.New("assigner: worker IDs exhausted")
	// ErrWorkerRowLost: the row of the worker ID has vanished or belongs to another holder.
	ErrWorkerRowLost = errors.New("assigner: worker row lost")
	// ErrLayoutMismatch: the store is pinned to another layout, unit, epoch or datacenter.
	ErrLayoutMismatch = errors.New("assigner: layout mismatch")
	// ErrWorkerAheadOfClock: the fences of all free worker IDs are further ahead of the clock than
	// LeaseConfig.MaxLead allows. It passes as the clock moves on.
	ErrWorkerAheadOfClock = errors.New("assigner: worker ID ahead of the clock")
	// ErrQuarantined: the store may have forgotten an earlier holder of the worker ID, which must
	// not be used yet. Call Assign again after RetryAfter; on a lossy store, of the same assigner.
	ErrQuarantined = errors.New("assigner: worker ID in quarantine")
	// ErrUnfencedReuse: the worker ID is reused after a restart, and no fence keeps the new process
	// above the IDs of the old one.
	ErrUnfencedReuse = errors.New("assigner: worker ID is reused without a fence")
)
