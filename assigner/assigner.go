package assigner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// An Assigner finds a worker ID for a generator. Any number of generators may share one.
type Assigner interface {
	// Assign returns a lease on a worker ID for IDs composed as d says, or an error when ctx ends
	// first. It is called when a generator starts, and again when it has lost its lease.
	Assign(ctx context.Context, d Domain) (Lease, error)
}

// A Domain says what IDs will be composed with. Generators whose IDs meet in one table must agree
// on Layout and Epoch, and those that share a DatacenterID must differ in their worker IDs. Stores
// pin the domain and refuse another one with [ErrLayoutMismatch]. The generator fills it in, all
// defaults resolved.
type Domain struct {
	Layout       bitsalloc.Layout
	Epoch        time.Time    // UTC, whole milliseconds
	DatacenterID int64        // 0 when the layout has no such field
	Now          func() int64 // the current delta, by the generator's clock
	Prepared     int64        // how many deltas the generator composes ahead of their use

	// Registered says that the caller calls Abandon or Release on each lease that it holds no more,
	// see [Abandoner]: a second one of this process is refused where it would take the lease of the
	// first.
	Registered bool

	// ReuseError is why the generator refuses a grant that is Reusable and has no fence; nil: it
	// accepts one. An assigner that would take such a worker ID from somebody else returns the
	// error instead.
	ReuseError error
}

// MaxWorkerID returns the largest worker ID that the layout has room for.
func (d Domain) MaxWorkerID() int64 { return 1<<d.Layout.WorkerBits - 1 }

// CheckWorkerID returns [ErrWorkerOutOfRange] when a worker ID does not fit the layout; source says
// in the error text where the number comes from. A number that does not fit is never cut down to
// size: that is how two hosts come to share one.
func (d Domain) CheckWorkerID(workerID int64, source string) error {
	if workerID < 0 || workerID > d.MaxWorkerID() {
		return fmt.Errorf("%w: %d from %s, allowed with layout %v: 0 to %d",
			ErrWorkerOutOfRange, workerID, source, d.Layout, d.MaxWorkerID())
	}
	return nil
}

// A Lease is the right to a worker ID. Its methods are called by one goroutine at a time.
type Lease interface {
	// Grant returns what the holder may do at present. It does not block.
	Grant() Grant
	// Renew tells the store that the holder lives and has used deltas up to used, and checks that
	// the worker ID still belongs to the lease. When the grant is fenced, Renew raises Limit to at
	// least want, or as far as a store of GuaranteeLossy allows by its clock; nothing else of the
	// grant may change. The generator calls it at least once a minute. Its used may lie outside the
	// grant: the generator may have had another worker ID before.
	//
	// ErrWorkerRowLost ends the lease: it is not renewed again. A fenced grant may be used up to
	// its Limit all the same, as Grant then has it (the lease may have lowered it), since its
	// successor begins above it, unless the error is also ErrFenceRegressed, ErrWorkerRowMissing or
	// ErrNamespaceRecreated, or the grant has no fence: then the holder stops at once, and drops
	// IDs that are prepared. After any other error the lease stands as it was.
	Renew(ctx context.Context, used, want int64) error
	// Release gives the worker ID back; used is the highest delta that was put to use.
	Release(ctx context.Context, used int64) error
}

// An Expiring lease is one that others may take over when it is not renewed for some time.
type Expiring interface {
	Lease
	// RenewWithin is how long the holder waits at most between the beginnings of two renewals.
	RenewWithin() time.Duration
}

// An Abandoner is a lease that the process keeps account of.
type Abandoner interface {
	Lease
	// Abandon tells that the holder has stopped using the lease without giving the worker ID back:
	// it was lost, or invalidated. It does not block and leaves the store alone.
	Abandon()
}

// A Grant is one consistent snapshot of what the holder of a lease may do.
type Grant struct {
	WorkerID     int64     // 0 to MaxWorkerID of the domain
	First, Limit int64     // deltas the holder may use, both inclusive; Limit is Unlimited when there is no fence
	Guarantee    Guarantee // what keeps others from using the worker ID
	Reusable     bool      // whether the worker ID may be given out again after this process ends
}

// Unlimited is the Limit of a grant without a fence.
const Unlimited int64 = math.MaxInt64

// Fenced reports whether the grant has a fence: a Limit above which the holder may use no delta.
func (g Grant) Fenced() bool { return g.Limit != Unlimited }

// Guarantee says what keeps a worker ID from being used by two generators, weakest first. It
// belongs to a grant: one assigner may give different ones over time.
type Guarantee int

const (
	// GuaranteeDerived: a number from configuration or from the host. Nothing checks it.
	GuaranteeDerived Guarantee = iota
	// GuaranteeSticky: one number per key from a store, used again after a restart, not fenced.
	GuaranteeSticky
	// GuaranteeLossy: fenced, on a store that may forget commits, by its nature, where safety rests
	// on clocks, or by settings that LeaseConfig.AllowUndurable has accepted, where nothing makes
	// up for it.
	GuaranteeLossy
	// GuaranteeFresh: a number that was never given out before, as long as the store is durable.
	GuaranteeFresh
	// GuaranteeFenced: safe on a durable store, whatever clocks and pauses do.
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

// Errors that assigners and generators return. All of them come wrapped in a text that says which
// worker, key or row is concerned, and what to do.
var (
	// ErrWorkerOutOfRange: the number does not fit the worker field of the layout.
	ErrWorkerOutOfRange = errors.New("assigner: worker ID out of range")
	// ErrWorkerUnknown: the host or the environment gives no number to derive a worker ID from.
	ErrWorkerUnknown = errors.New("assigner: no worker ID to be had")
	// ErrWorkerInUse: another live generator holds the worker ID, or the key that leads to it.
	ErrWorkerInUse = errors.New("assigner: worker ID in use")
	// ErrWorkersExhausted: every number of the worker field is held, or, where none comes back, was
	// handed out.
	ErrWorkersExhausted = errors.New("assigner: worker IDs exhausted")
	// ErrWorkerRowLost: the row that stands for the worker ID has vanished or belongs to another.
	ErrWorkerRowLost = errors.New("assigner: worker row lost")
	// ErrLayoutMismatch: the store is pinned to another layout, unit, epoch or datacenter.
	ErrLayoutMismatch = errors.New("assigner: layout mismatch")
	// ErrWorkerOverlap: two sources of worker IDs in one database would give out the same numbers.
	ErrWorkerOverlap = errors.New("assigner: worker IDs overlap")
	// ErrStoreDamaged: the files of a store are torn, gone or another store's, or were moved,
	// replaced or deleted while it was in use. Nothing is taken from the store, since the deltas
	// that have been used are not known.
	ErrStoreDamaged = errors.New("assigner: store damaged")
	// ErrStoreNotDurable: the store may forget what it has acknowledged, and would then hand out a
	// number twice; or it is read-only.
	ErrStoreNotDurable = errors.New("assigner: store not durable")
	// ErrWorkerRowMissing: the row of a lease has vanished. It comes with ErrWorkerRowLost.
	ErrWorkerRowMissing = errors.New("assigner: worker row missing")
	// ErrNamespaceRecreated: the rows of a lease were made anew. It comes with ErrWorkerRowLost.
	ErrNamespaceRecreated = errors.New("assigner: namespace recreated")
	// ErrFenceRegressed: the store has gone back to an earlier state, by a restore or a failover
	// that lost commits. It comes with ErrWorkerRowLost.
	ErrFenceRegressed = errors.New("assigner: fence regressed")
	// ErrWorkerAheadOfClock: every worker ID that is free was used further ahead of the clock than
	// allowed.
	ErrWorkerAheadOfClock = errors.New("assigner: worker ID ahead of the clock")
	// ErrClockSkew: the clocks of this host and of the store differ by more than
	// LeaseConfig.MaxSkew.
	ErrClockSkew = errors.New("assigner: clock skew")
	// ErrQuarantined: a worker ID has been taken from a store that may have forgotten who used it,
	// and must not be used yet. It comes as a [*QuarantineError].
	ErrQuarantined = errors.New("assigner: worker ID in quarantine")
	// ErrUnfencedReuse: the worker ID comes back after a restart, with nothing that keeps the new
	// process above the IDs of the old one.
	ErrUnfencedReuse = errors.New("assigner: worker ID is reused without a fence")
)
