package keeper

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/storecall"
)

// claim takes a lease and makes it the state, unless Invalidate has changed the state from since: a
// copy of the process may have the lease, too. Invalidate then wakes run for another claim.
func (k *Keeper) claim(ctx context.Context, from *State) error {
	k.abandon()
	lease, clock, err := k.ask(ctx)
	if err != nil {
		return err
	}
	registration, grant, err := k.admit(lease.Grant())
	if err != nil {
		_ = k.release(ctx, lease, 0) // its error may pass, and err stays
		return err
	}
	k.lease, k.registration = lease, registration
	k.highest = max(k.highest, grant.Last)
	k.refused = 0
	k.want.Store(0) // it was for an earlier lease
	if state, _ := k.transition(from, k.claimed(from, grant, clock)); state != nil {
		k.announceClaim(state) //mutate:swap the func may run before or after callers wake
		k.changed.Wake()
	}
	return nil
}

// ask gets a lease from the user's assigner within the timeout, and the last reading of the clock
// that the assigner made, and checked. If it has made none, ask reads the clock after the call: the
// monotonic clock, which counts from the reading on, may have stood still during the call.
func (k *Keeper) ask(ctx context.Context) (assigner.Lease, Clock, error) {
	call, cancel := context.WithTimeout(ctx, k.claimTimeout)
	defer cancel()
	var last atomic.Pointer[Clock]
	now := func() int64 {
		clock := Clock{k.Now().Round(0), time.Now()} //mutate:number any Round drops the monotonic time
		last.Store(&clock)
		return k.Alloc.Delta(clock.wall)
	}
	lease, err := k.Assigner.Assign(call, k.domain(now))
	switch {
	case err != nil && call.Err() != nil && ctx.Err() == nil:
		err = storecall.Away{Err: fmt.Errorf("no answer within AssignTimeout, %v: %w", k.claimTimeout, err)}
	case err == nil && lease == nil:
		err = fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
	}
	if err != nil {
		return nil, Clock{}, err
	}
	if last.Load() == nil {
		now()
	}
	return lease, *last.Load(), nil
}

// admit checks a grant and enters it into the registry of the process.
func (k *Keeper) admit(g assigner.Grant) (*Registration, assigner.Grant, error) {
	domain := k.domain(nil)
	if g.Last < 1 {
		return nil, g, fmt.Errorf("the assigner grants worker ID %d with Last %d, allowed: 1 or more; without a fence it is assigner.Unlimited",
			g.WorkerID, g.Last)
	}
	if err := domain.CheckWorkerID(g.WorkerID, "the assigner"); err != nil {
		return nil, g, err
	}
	if domain.ReuseError != nil && g.Reusable && !g.Fenced() {
		return nil, g, fmt.Errorf("worker ID %d (%v): %w", g.WorkerID, g.Guarantee, domain.ReuseError)
	}
	g.First = max(g.First, 0) // no delta is lower
	return Register(domain, g)
}
