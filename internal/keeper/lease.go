package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/uidring/uidring/assigner"
)

// errInvalidated is returned by assign when Invalidate was called while it took a lease; the lease
// is dropped.
var errInvalidated = errors.New("keeper: invalidated")

// invalidations returns the number of calls of Invalidate, after waiting for a call in progress.
func (k *Keeper) invalidations() int {
	k.ending.Lock()
	defer k.ending.Unlock()
	return k.invalidated
}

// assign takes a lease and makes its grant current, unless Invalidate has been called since count
// was read: a copy of the process may have the lease, too.
func (k *Keeper) assign(ctx context.Context, count int) error {
	k.abandon()
	lease, grant, clock, err := k.ask(ctx)
	if err != nil {
		return err
	}
	hold, grant, err := k.admit(grant)
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, k.cfg.Timeout)
		defer cancel()
		return errors.Join(err, guarded("Release", func() error { return lease.Release(ctx, 0) }))
	}
	k.lease, k.registration = lease, hold
	k.highest = max(k.highest, grant.Limit)
	k.want.Store(0) // drop requests for an earlier lease
	k.later.Store(0)
	k.refused.Store(math.MaxInt64)
	h := k.begin(grant, clock)
	if !k.publish(h, count) {
		return errInvalidated
	}
	k.cfg.Logger.Info("worker ID assigned", "worker", h.WorkerID, "datacenter", k.cfg.Domain.DatacenterID,
		"guarantee", h.Guarantee.String())
	if k.cfg.Trace.Assigned != nil {
		Call(k.cfg.Logger, "Trace.LeaseAssigned", func() { k.cfg.Trace.Assigned(h.Grant) })
	}
	k.news.Ring()
	return nil
}

// abandon calls Abandon on the lease, if it has that method: it is no longer held.
func (k *Keeper) abandon() {
	if l, ok := k.lease.(assigner.Abandoner); ok {
		_ = guarded("Abandon", func() error { l.Abandon(); return nil })
	}
}

// ask gets a lease and its grant from the user's assigner, and the clock, within the timeout. It
// returns a panic of the assigner as an error. The clock is the last reading that the assigner made
// and checked, or a new reading if it made none.
func (k *Keeper) ask(ctx context.Context) (lease assigner.Lease, grant assigner.Grant, clock Clock, err error) {
	call, cancel := context.WithTimeout(ctx, k.cfg.Timeout)
	defer cancel()
	k.reading.Store(nil)
	err = guarded("Assign", func() (err error) {
		lease, err = k.cfg.Assigner.Assign(call, k.cfg.Domain)
		if err != nil {
			return err
		}
		if lease == nil {
			return fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
		}
		grant = lease.Grant()
		if k.reading.Load() == nil {
			k.delta()
		}
		clock = *k.reading.Load()
		return nil
	})
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within AssignTimeout, %v: %w", k.cfg.Timeout, err)
	}
	return lease, grant, clock, err
}

// delta reads the user's clock. It is Domain.Now.
func (k *Keeper) delta() int64 {
	clock := readClock(k.cfg.Now)
	k.reading.Store(&clock)
	return k.cfg.Alloc.Delta(clock.wall)
}

// admit checks a grant and enters it into the registry of the process.
func (k *Keeper) admit(g assigner.Grant) (*assigner.Registration, assigner.Grant, error) {
	if err := k.cfg.Domain.CheckWorkerID(g.WorkerID, fmt.Sprintf("%T", k.cfg.Assigner)); err != nil {
		return nil, g, err
	}
	if refused := k.cfg.Domain.ReuseError; refused != nil && g.Reusable && !g.Fenced() {
		return nil, g, fmt.Errorf("worker ID %d (%v): %w", g.WorkerID, g.Guarantee, refused)
	}
	return assigner.Register(k.cfg.Domain, g)
}

// begin returns the first Lease of a lease.
func (k *Keeper) begin(grant assigner.Grant, clock Clock) *Lease {
	h := &Lease{Grant: grant, Generation: 1, Clock: clock, Delta: k.cfg.Alloc.Delta(clock.Now())}
	if last := k.latest.Load(); last != nil {
		h.Generation = last.Generation + 1
		if last.Clock.Now().After(clock.Now()) {
			h.Clock = last.Clock
		}
	}
	if h.Reusable && !h.Fenced() {
		h.First = max(h.First, h.Delta+1) // an earlier process may have used the current unit
	}
	h.grow(max(h.First-1, h.Delta), grant.Limit, k.cfg.Domain.Layout.Unit)
	h.position += k.cfg.Domain.Prepared // the first fill of the ring does not count as use
	return h
}

// publish makes h the current lease, unless Invalidate has been called since count was read.
func (k *Keeper) publish(h *Lease, count int) bool {
	k.ending.Lock()
	defer k.ending.Unlock()
	if k.invalidated != count {
		return false
	}
	k.latest.Store(h)
	k.current.Store(h)
	return true
}

// renew renews the lease of h.
func (k *Keeper) renew(ctx context.Context, h *Lease) error {
	ctx, cancel := context.WithTimeout(ctx, min(k.cfg.Timeout, renewTimeout))
	defer cancel()
	used := min(k.cfg.Used(), k.highest)
	position, want, later := k.cfg.Position(h), k.want.Load(), k.later.Load()
	if want <= h.Limit {
		want = max(want, later)
	}
	var grant assigner.Grant
	err := guarded("Renew", func() error {
		if err := k.lease.Renew(ctx, used, max(position, want)); err != nil {
			return err
		}
		grant = k.lease.Grant()
		if grant.WorkerID != h.WorkerID {
			return fmt.Errorf("%w: a renewal of worker ID %d has returned worker ID %d", assigner.ErrWorkerRowLost, h.WorkerID, grant.WorkerID)
		}
		return nil
	})
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		k.lose(h, err)
	}
	if err != nil {
		return err
	}
	k.renewals.Add(1)
	k.highest = max(k.highest, grant.Limit)
	granted := k.granted(grant, want, later)
	if position > grant.Limit { // the clock was wrong for a moment, or is ahead of a lossy store
		position = min(used, grant.Limit)
	}
	renewed := *h
	renewed.grow(position, grant.Limit, k.cfg.Domain.Layout.Unit) // nothing else of a grant may change
	if k.current.CompareAndSwap(h, &renewed) {                    // fails after Invalidate
		k.latest.Store(&renewed)
		if !granted || renewed.Limit != h.Limit {
			k.news.Ring() // after a refused request, too: the generator checks whether it still needs it
		}
	}
	return nil
}

// granted reports whether a renewal has granted a request. Otherwise it drops the request, which
// may come from a clock that was wrong for a moment. When repeated, the request and all higher ones
// wait for the next renewal. On a lossy store, which grants more as time passes, all requests wait.
func (k *Keeper) granted(grant assigner.Grant, want, later int64) bool {
	refused := int64(math.MaxInt64)
	switch {
	case grant.Limit >= want:
	case grant.Guarantee == assigner.GuaranteeLossy:
		refused = 0
	default:
		refused = want
	}
	k.refused.Store(refused)
	if want >= later {
		k.later.CompareAndSwap(later, 0)
	}
	if made := k.want.Load(); made >= refused { // this request, or a later one
		k.want.CompareAndSwap(made, grant.Limit)
	}
	return refused == math.MaxInt64
}

// lose records that the lease of h has ended. The part of its grant that may still be used stays
// current.
func (k *Keeper) lose(h *Lease, err error) {
	left := k.remainder(h, err)
	if !k.current.CompareAndSwap(h, left) { // after Invalidate
		return
	}
	k.trouble.Store(&err)
	if left != nil {
		k.latest.Store(left)
		// If the limit was lowered, IDs above it may be prepared. Used waits for a pass that
		// composes under the old limit.
		if left.Limit < h.Limit && k.cfg.Used() > left.Limit && k.current.CompareAndSwap(left, nil) {
			left = nil
		}
	}
	if left == nil {
		k.cfg.Ended()
	}
	k.cfg.Logger.Error("worker ID lost", "worker", h.WorkerID, "error", err)
	if k.cfg.Trace.Lost != nil {
		Call(k.cfg.Logger, "Trace.LeaseLost", func() { k.cfg.Trace.Lost(h.WorkerID, err) })
	}
}

// remainder returns the part of h that may be used after the loss of its lease, or nil when the
// worker ID may have a new holder in the same deltas.
func (k *Keeper) remainder(h *Lease, err error) *Lease {
	if !h.Fenced() || forgotten(err) {
		return nil
	}
	var grant assigner.Grant
	if guarded("Grant", func() error { grant = k.lease.Grant(); return nil }) != nil || grant.WorkerID != h.WorkerID {
		return nil
	}
	left := *h
	left.Limit = min(h.Limit, grant.Limit)
	left.Half = math.MaxInt64 // it cannot be extended
	left.lost = true
	return &left
}

// forgotten reports whether a store has lost a fence, and may hand out the same deltas again.
func forgotten(err error) bool {
	return errors.Is(err, assigner.ErrFenceRegressed) || errors.Is(err, assigner.ErrWorkerRowMissing) ||
		errors.Is(err, assigner.ErrNamespaceRecreated)
}
