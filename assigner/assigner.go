package assigner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// An Assigner provides worker IDs. Any number of generators may share one, and may call it at once.
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

	// Registered promises that the caller calls Abandon or Release on each lease that it stops
	// using, see [Lease]. In return, Assign rejects a second generator of this process that
	// would take over the lease of the first.
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
// time.
//
// Generators look for four more methods. Namespace() string names the namespace of the worker ID
// for their log. SetOldest(delta int64), for Horizon of package leasestore, comes before Renew
// with the lowest delta of which the holder may still issue an ID. A lease that another process
// can take over when it is not renewed in time has RenewWithin() time.Duration, the longest time
// between the starts of two renewals. A lease that the assigner keeps a record of in this
// process has Abandon(): it reports that the holder has stopped using the lease without giving
// the worker ID back, because the lease was lost or invalidated; it does not block and does not
// access the store.
type Lease interface {
	// Grant returns the worker ID, the range of deltas and the guarantee that the lease gives now.
	// It does not block.
	Grant() Grant
	// Renew tells the store that the holder lives and has used deltas up to used, and checks that
	// the worker ID still belongs to the lease. When the grant is fenced, Renew raises Limit to at
	// least want; a store of GuaranteeLossy may allow less, bounded by its clock. Renew changes
	// nothing else of the grant. The generator calls it at least once a minute. used may lie
	// outside the grant, since the generator may have had another worker ID before.
	//
	// ErrWorkerRowLost ends the lease; do not renew it again. The holder of a fenced grant may go
	// on up to Limit, because its successor starts above it; call Grant again, since the lease may
	// have lowered Limit. It must stop at once and drop prepared IDs when the grant has no fence,
	// or when the error is also ErrFenceRegressed or ErrRowMissing of package leasestore. After any
	// other error the lease stands as it was.
	Renew(ctx context.Context, used, want int64) error
	// Release gives the worker ID back; used is the highest delta of which the holder issued IDs.
	Release(ctx context.Context, used int64) error
}

// A Grant is a consistent snapshot of the worker ID, the range of deltas and the guarantee of a
// lease.
type Grant struct {
	WorkerID     int64     // 0 to MaxWorkerID of the domain
	First, Limit int64     // deltas the holder may use, both inclusive; Limit is Unlimited when there is no fence
	Guarantee    Guarantee // protection against a second holder
	Reusable     bool      // the worker ID may be given out again after this process ends
}

// Unlimited is the Limit of a grant without a fence.
const Unlimited int64 = math.MaxInt64

// Fenced reports whether the grant has a fence: a Limit above which the holder may use no delta.
func (g Grant) Fenced() bool { return g.Limit != Unlimited }

// Guarantee is the protection of a worker ID against use by two generators, weakest first. It
// belongs to a grant: an assigner may return grants with different guarantees over time.
type Guarantee int

const (
	// GuaranteeDerived: a worker ID from configuration or from the host. Nothing checks it.
	GuaranteeDerived Guarantee = iota
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

// String returns the name in lower case, such as "derived".
func (g Guarantee) String() string {
	names := [...]string{"derived", "sticky", "lossy", "fresh", "fenced"}
	if g < 0 || int(g) >= len(names) {
		return fmt.Sprintf("guarantee(%d)", int(g))
	}
	return names[g]
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
	// LeaseConfig.MaxLead allows.
	ErrWorkerAheadOfClock = errors.New("assigner: worker ID ahead of the clock")
	// ErrQuarantined: the store may have forgotten an earlier holder of the worker ID, which must
	// not be used yet. Call Assign of the same assigner again after RetryAfter.
	ErrQuarantined = errors.New("assigner: worker ID in quarantine")
	// ErrUnfencedReuse: the worker ID is reused after a restart, and no fence keeps the new process
	// above the IDs of the old one.
	ErrUnfencedReuse = errors.New("assigner: worker ID is reused without a fence")
)
