package tenure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/uidring/uidring/assigner"
)

// errInvalidated is why a lease is dropped that was being taken when Invalidate was called.
var errInvalidated = errors.New("tenure: invalidated")

// invalidations waits for a call of Invalidate that is under way, and counts.
func (t *Tenure) invalidations() int {
	t.ending.Lock()
	defer t.ending.Unlock()
	return t.invalidated
}

// assign takes a lease and makes its grant the current one, unless Invalidate has been called since
// count was taken: a copy of the process may have the lease, too.
func (t *Tenure) assign(ctx context.Context, count int) error {
	t.abandon()
	lease, grant, clock, err := t.ask(ctx)
	if err != nil {
		return err
	}
	hold, grant, err := t.admit(grant)
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
		defer cancel()
		return errors.Join(err, guarded("Release", func() error { return lease.Release(ctx, 0) }))
	}
	t.lease, t.hold = lease, hold
	t.highest = max(t.highest, grant.Limit)
	t.want.Store(0) // a wish of an earlier lease
	t.later.Store(0)
	t.refused.Store(math.MaxInt64)
	h := t.begin(grant, clock)
	if !t.publish(h, count) {
		return errInvalidated
	}
	t.cfg.Logger.Info("worker ID assigned", "worker", h.WorkerID, "datacenter", t.cfg.Domain.DatacenterID,
		"guarantee", h.Guarantee.String())
	if t.cfg.Trace.Assigned != nil {
		Call(t.cfg.Logger, "Trace.LeaseAssigned", func() { t.cfg.Trace.Assigned(h.Grant) })
	}
	t.news.Ring()
	return nil
}

// abandon tells the lease, if there is one, that it is held no more.
func (t *Tenure) abandon() {
	if l, ok := t.lease.(assigner.Abandoner); ok {
		_ = guarded("Abandon", func() error { l.Abandon(); return nil })
	}
}

// ask gets a lease and its grant from the user's assigner, and the clock, within the timeout. A
// panic in any of them is an error. The clock is the last reading that the assigner has made, since
// it has checked that one, or a new one if it has made none.
func (t *Tenure) ask(ctx context.Context) (lease assigner.Lease, grant assigner.Grant, clock Clock, err error) {
	call, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	t.reading.Store(nil)
	err = guarded("Assign", func() (err error) {
		lease, err = t.cfg.Assigner.Assign(call, t.cfg.Domain)
		if err != nil {
			return err
		}
		if lease == nil {
			return fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
		}
		grant = lease.Grant()
		if t.reading.Load() == nil {
			t.delta()
		}
		clock = *t.reading.Load()
		return nil
	})
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within AssignTimeout, %v: %w", t.cfg.Timeout, err)
	}
	return lease, grant, clock, err
}

// delta reads the user's clock. It is Domain.Now.
func (t *Tenure) delta() int64 {
	clock := readClock(t.cfg.Now)
	t.reading.Store(&clock)
	return t.cfg.Alloc.Delta(clock.wall)
}

// admit checks a grant and enters it into the registry of the process.
func (t *Tenure) admit(g assigner.Grant) (*assigner.Hold, assigner.Grant, error) {
	if err := t.cfg.Domain.CheckWorkerID(g.WorkerID, fmt.Sprintf("%T", t.cfg.Assigner)); err != nil {
		return nil, g, err
	}
	if refused := t.cfg.Domain.ReuseError; refused != nil && g.Reusable && !g.Fenced() {
		return nil, g, fmt.Errorf("worker %d (%v): %w", g.WorkerID, g.Guarantee, refused)
	}
	return assigner.Register(t.cfg.Domain, g)
}

// begin returns the first Holding of a lease.
func (t *Tenure) begin(grant assigner.Grant, clock Clock) *Holding {
	h := &Holding{Grant: grant, Term: 1, Begin: new(sync.Once), Clock: clock, Delta: t.cfg.Alloc.Delta(clock.Now())}
	if last := t.latest.Load(); last != nil {
		h.Term = last.Term + 1
		if last.Clock.Now().After(clock.Now()) {
			h.Clock = last.Clock
		}
	}
	if h.Reusable && !h.Fenced() {
		h.First = max(h.First, h.Delta+1) // an earlier process may have used the current unit
	}
	h.grow(max(h.First-1, h.Delta), grant.Limit, t.cfg.Domain.Layout.Unit)
	h.position += t.cfg.Domain.Prepared // the first fill of the ring does not count as use
	return h
}

// publish makes h the current holding, unless Invalidate has been called since count was taken.
func (t *Tenure) publish(h *Holding, count int) bool {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.invalidated != count {
		return false
	}
	t.latest.Store(h)
	t.current.Store(h)
	if t.cfg.Begin != nil {
		h.Begin.Do(t.cfg.Begin)
	}
	return true
}

// renew renews the lease behind h.
func (t *Tenure) renew(ctx context.Context, h *Holding) error {
	ctx, cancel := context.WithTimeout(ctx, min(t.cfg.Timeout, renewTimeout))
	defer cancel()
	used := min(t.cfg.Used(), t.highest)
	position, want, later := t.cfg.Position(h), t.want.Load(), t.later.Load()
	if want <= h.Limit {
		want = max(want, later)
	}
	var grant assigner.Grant
	err := guarded("Renew", func() error {
		if err := t.lease.Renew(ctx, used, max(position, want)); err != nil {
			return err
		}
		grant = t.lease.Grant()
		if grant.WorkerID != h.WorkerID {
			return fmt.Errorf("%w: a renewal of worker %d has returned worker %d", assigner.ErrWorkerRowLost, h.WorkerID, grant.WorkerID)
		}
		return nil
	})
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		t.lose(h, err)
	}
	if err != nil {
		return err
	}
	t.renewals.Add(1)
	t.highest = max(t.highest, grant.Limit)
	granted := t.granted(grant, want, later)
	if position > grant.Limit { // by a clock that was wrong for a moment, or that a lossy store is behind
		position = min(used, grant.Limit)
	}
	renewed := *h
	renewed.grow(position, grant.Limit, t.cfg.Domain.Layout.Unit) // nothing else of a grant may change
	if t.current.CompareAndSwap(h, &renewed) {                    // fails after Invalidate
		t.latest.Store(&renewed)
		if !granted || renewed.Limit != h.Limit {
			t.news.Ring() // when a wish was refused, too: the generator looks whether it still needs it
		}
	}
	return nil
}

// granted reports whether a renewal has granted a wish. Otherwise the wish is dropped: it may come
// from a clock that was wrong for a moment. Made again, it waits for the next renewal, as do higher
// ones; on a lossy store, which grants more as time passes, all do.
func (t *Tenure) granted(grant assigner.Grant, want, later int64) bool {
	refused := int64(math.MaxInt64)
	switch {
	case grant.Limit >= want:
	case grant.Guarantee == assigner.GuaranteeLossy:
		refused = 0
	default:
		refused = want
	}
	t.refused.Store(refused)
	if want >= later {
		t.later.CompareAndSwap(later, 0)
	}
	if made := t.want.Load(); made >= refused { // this wish, or a later one
		t.want.CompareAndSwap(made, grant.Limit)
	}
	return refused == math.MaxInt64
}

// lose notes that the lease behind h has ended. Its grant stays current as far as it may be used.
func (t *Tenure) lose(h *Holding, err error) {
	left := t.remainder(h, err)
	if !t.current.CompareAndSwap(h, left) { // after Invalidate
		return
	}
	t.trouble.Store(&err)
	if left != nil {
		t.latest.Store(left)
		// IDs above a limit that was lowered may be prepared. Used waits for the pass that composes
		// under the old one.
		if left.Limit < h.Limit && t.cfg.Used() > left.Limit && t.current.CompareAndSwap(left, nil) {
			left = nil
		}
	}
	if left == nil {
		t.cfg.Ended()
	}
	t.cfg.Logger.Error("worker ID lost", "worker", h.WorkerID, "error", err)
	if t.cfg.Trace.Lost != nil {
		Call(t.cfg.Logger, "Trace.LeaseLost", func() { t.cfg.Trace.Lost(h.WorkerID, err) })
	}
}

// remainder returns h as it may be used after the loss of its lease, or nil when the worker ID may
// have a new holder in the same deltas.
func (t *Tenure) remainder(h *Holding, err error) *Holding {
	if !h.Fenced() || forgotten(err) {
		return nil
	}
	var grant assigner.Grant
	if guarded("Grant", func() error { grant = t.lease.Grant(); return nil }) != nil || grant.WorkerID != h.WorkerID {
		return nil
	}
	left := *h
	left.Limit = min(h.Limit, grant.Limit)
	left.Half = math.MaxInt64 // more is not to be had
	left.lost = true
	return &left
}

// forgotten reports whether a store has lost a fence, and may hand out the same deltas again.
func forgotten(err error) bool {
	return errors.Is(err, assigner.ErrFenceRegressed) || errors.Is(err, assigner.ErrWorkerRowMissing) ||
		errors.Is(err, assigner.ErrNamespaceRecreated)
}
