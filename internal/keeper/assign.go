package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
)

// errInvalidated is returned by assign when Invalidate was called while it took a lease; the lease
// is dropped.
var errInvalidated = errors.New("keeper: invalidated")

// assign takes a lease and makes its grant current, unless Invalidate has been called since count
// was read: a copy of the process may have the lease, too.
func (k *Keeper) assign(ctx context.Context, count int) error {
	k.abandon()
	lease, err := k.ask(ctx)
	if err != nil {
		return err
	}
	registration, grant, err := k.admit(lease.Grant())
	if err != nil {
		return errors.Join(err, k.release(ctx, lease, 0))
	}
	k.lease, k.registration = lease, registration
	k.highest = max(k.highest, grant.Last)
	k.refused = 0
	k.want.Store(0) // it was for an earlier lease
	next := k.begin(grant)
	k.ending.Lock()
	if k.invalidated != count {
		k.ending.Unlock()
		return errInvalidated
	}
	k.latest.Store(next)
	k.current.Store(next)
	k.ending.Unlock()
	// Operators find out by this record later who issued an ID.
	record := []any{"library", "uidring", "worker", next.WorkerID, "datacenter", k.DatacenterID, "guarantee", next.Guarantee.String(),
		"layout", k.Alloc.Layout().String(), "ends", k.Alloc.Expires().Format(time.DateOnly)}
	if next.Namespace != "" {
		record = append(record, "namespace", next.Namespace)
	}
	k.Logger.Info("worker ID assigned", record...)
	k.announceStart(next)
	k.announce(next)
	generator.Report(k.Logger, "LeaseAssigned", k.Trace.LeaseAssigned, assigner.LeaseInfo{Grant: next.Grant})
	k.changed.Wake()
	return nil
}

// release releases a lease within the timeout.
func (k *Keeper) release(ctx context.Context, lease assigner.Lease, used int64) error {
	ctx, cancel := context.WithTimeout(ctx, k.AssignTimeout)
	defer cancel()
	return lease.End(ctx, assigner.Ending{Released: true, Used: used})
}

// abandon ends the last lease without giving the worker ID back.
func (k *Keeper) abandon() {
	if k.lease != nil {
		_ = k.lease.End(context.Background(), assigner.Ending{})
	}
}

// ask gets a lease from the user's assigner within the timeout. It reads the clock last if the
// assigner has not: the monotonic clock, which counts from the reading on, may have stood still
// during the call.
func (k *Keeper) ask(ctx context.Context) (assigner.Lease, error) {
	call, cancel := context.WithTimeout(ctx, k.claimTimeout)
	defer cancel()
	k.reading.Store(nil)
	lease, err := k.Assigner.Assign(call, k.domain())
	switch {
	case err != nil && call.Err() != nil && ctx.Err() == nil:
		return nil, storecall.Away{Err: fmt.Errorf("no answer within AssignTimeout, %v: %w", k.claimTimeout, err)}
	case err == nil && lease == nil:
		return nil, fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
	case err == nil && k.reading.Load() == nil:
		k.delta()
	}
	return lease, err
}

// delta reads the user's clock. It is Domain.Now.
func (k *Keeper) delta() int64 {
	clock := Clock{k.Now().Round(0), time.Now()}
	k.reading.Store(&clock)
	return k.Alloc.Delta(clock.wall)
}

// admit checks a grant and enters it into the registry of the process.
func (k *Keeper) admit(g assigner.Grant) (*Registration, assigner.Grant, error) {
	domain := k.domain()
	if g.Last < 1 {
		return nil, g, fmt.Errorf("the assigner grants worker ID %d with Last %d, allowed: 1 or more; without a fence it is assigner.Unlimited",
			g.WorkerID, g.Last)
	}
	if err := domain.CheckWorkerID(g.WorkerID, fmt.Sprintf("%T", k.Assigner)); err != nil {
		return nil, g, err
	}
	if domain.ReuseError != nil && g.Reusable && !g.Fenced() {
		return nil, g, fmt.Errorf("worker ID %d (%v): %w", g.WorkerID, g.Guarantee, domain.ReuseError)
	}
	return Register(domain, g)
}

// begin returns the first Grant of a lease. Its clock is the last reading that the assigner made
// and checked, or the reading of ask.
func (k *Keeper) begin(grant assigner.Grant) *Grant {
	clock := *k.reading.Load()
	next := &Grant{Grant: grant, Generation: 1, Clock: clock, Delta: k.Alloc.Delta(clock.Now())}
	if last := k.latest.Load(); last != nil {
		next.Generation = last.Generation + 1
		if last.Clock.Now().After(clock.Now()) {
			next.Clock = last.Clock
		}
	}
	if next.Reused() {
		next.First = max(next.First, next.Delta+k.Ahead+1) // an earlier process may have used the deltas below
	}
	next.grow(max(next.First-1, next.Delta), grant.Last, k.Alloc.Layout().Unit)
	return next
}
