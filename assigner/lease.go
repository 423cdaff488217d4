package assigner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// The way of a renewal: package keeper calls Renew, fence.go says how far the fence may rise, and a
// leasestore.Store swaps the row. A claim takes the same way from claim.go.

// A lease is the holder's side of a row. The Last of its grant is the fence of the row as last
// proved: by an acknowledged swap, or by a read that shows the lease's version and token.
type lease struct {
	leaser *leaser
	terms  terms
	seat   *seat // of Fenced
	fence  int64 // Fence of the namespace, when the row was claimed
	grant  Grant
	row    leasestore.Row // as last proved
	pace   pace           // at the last proof
	server string         // the server at the last proof
	elders elders
	ended  bool

	// For the time safe after renewed, the row cannot have another holder. renewed is the start of
	// the call that proved the row last.
	renewed instant
	safe    time.Duration
	// tried are the fences of the swaps from row without an answer; each may still take effect.
	// Another process, such as a copy of this one, has set any higher fence that is not in tried.
	tried []int64

	quarantine *quarantine // nil: it is over, or there was none
}

func (l *lease) Grant() Grant { return l.grant }

// Renew raises the fence as far as fences allows, and keeps the row from expiring.
func (l *lease) Renew(ctx context.Context, u Use) (Grant, error) {
	if l.ended {
		return l.grant, fmt.Errorf("%w: row %d: the lease has ended", ErrWorkerRowLost, l.row.WorkerID)
	}
	ctx, end := storecall.Operation(ctx)
	defer end()
	began, at := l.leaser.clock(), l.terms.domain.Now() // when u.Used was read
	held := l.row.Fence
	v, err := l.lookHeld(ctx, held)
	if err != nil {
		return l.grant, err
	}
	pace := v.fences.follow(l.pace, u.Used, at)
	next, bound := l.row, int64(0)
	if l.seen(v) != l.server { // a row that matches has lost no commit
		if next.Identity, bound, err = l.recognise(ctx, v); err != nil {
			return l.grant, err
		}
	}
	next.Oldest, next.Former = l.elders.renew(l.row, v.passed, u.Oldest, began.mono)
	next.Fence = v.fences.forRenewal(v.from(l.fence), l.row.Fence, u.Used, u.Want, pace)
	if err := l.raise(ctx, next, bound); err != nil {
		return l.grant, err
	}
	if v, err = l.lookHeld(ctx, held); err != nil { // the server may have moved, or time have passed
		return l.grant, err
	}
	l.grant.Last = l.row.Fence //mutate:swap seen reads no grant
	l.pace, l.server, l.renewed, l.safe = pace, l.seen(v), began, l.terms.exclusive()
	return l.grant, nil
}

// look reads the status of the store and this host's clock.
func (a *leaser) look(ctx context.Context, t terms) (view, error) {
	status, err := a.store.Status(ctx)
	if err != nil {
		return view{}, fmt.Errorf("assigner: read the status of the store: %w", err)
	}
	a.noteFaults(ctx, status.Faults)
	return t.view(status, t.domain.Now())
}

// lookHeld looks, and ends the lease if another process may have had the row meanwhile and the
// store may have forgotten that process: on another server, and on a lossy store. It uses both
// clocks of this host, and not the server's clock: a new server's clock may be slow. A second
// process of the same owner takes a row at once, so a Fenced lease ends whenever the server
// changes.
//
// held is the fence before the renewal. If it is so far in the past that Horizon may have taken the
// holder for gone, and passed its row, the lease ends as well. The holder has used up its grant
// long ago.
func (l *lease) lookHeld(ctx context.Context, held int64) (view, error) {
	v, err := l.leaser.look(ctx, l.terms)
	if err != nil {
		return v, err
	}
	moved, elapsed := l.moved(v), l.leaser.clock().longest(l.renewed)
	switch alone := elapsed < l.safe && (v.status.Lossy || l.leaser.source == nil); {
	case (v.status.Lossy || moved) && !alone:
		if moved { //mutate:true on a lossy store the cap of a grant is as low
			// A successor on the new server starts above the deltas that its quarantine covers. The
			// quarantine started after the last renewal of this lease.
			l.grant.Last = min(l.grant.Last, capped(max(l.terms.alloc.Delta(l.renewed.wall), l.fence), v.fences.ceiling()+1, v.fences.end))
		}
		return v, fmt.Errorf("%w: row %d: the store may have forgotten a claim by another process: the last renewal began %v ago, allowed: less than %v; "+
			"the server was %q and is %q", ErrWorkerRowLost, l.row.WorkerID, elapsed, l.safe, l.server, v.status.Identity)
	case l.quarantine == nil && held < v.passed:
		return v, fmt.Errorf("%w: row %d: the renewal comes too late: the fence %d has been past for more than %v; "+
			"the generator tries to take another worker ID", ErrWorkerRowLost, l.row.WorkerID, held, storecall.ClockBound)
	}
	return v, nil
}

// raise swaps the row for next. It swaps again if an earlier swap has taken effect late, also when
// that has set the same fence: the row then expires earlier than the lease would count on. A row
// with that fence after a refused swap is of a copy of this process. bound is the bound of another
// server than at the last renewal, else 0.
func (l *lease) raise(ctx context.Context, next leasestore.Row, bound int64) error {
	for {
		next.Fence = max(next.Fence, l.row.Fence) //mutate:swap tried is empty once the fence of the row has changed
		first := !slices.Contains(l.tried, next.Fence)
		ok, errSwap := l.leaser.store.Swap(ctx, l.row, next, 2*l.terms.window())
		if errSwap != nil {
			l.tried = append(l.tried, next.Fence)
		}
		found, err := storecall.Swapped(ok, errSwap, l.row, next, l.load(ctx))
		if err != nil {
			return fmt.Errorf("assigner: renew row %d: %w", l.row.WorkerID, err)
		}
		if errSwap == nil && ok || errSwap != nil && first && found.Same(next) {
			l.prove(next)
			return nil
		}
		//mutate:operator on equality another bound does no harm
		if bound >= l.row.Fence && l.rewound(found) && found.Identity != next.Identity {
			return fmt.Errorf("%w: row %d: the server was %q, and the present one has lost the last claim or renewal of this process, as a failover "+
				"may; it takes another worker ID", ErrWorkerRowLost, l.row.WorkerID, l.server)
		}
		if err := l.suspect(l.check(found), bound); err != nil {
			return err
		}
		l.prove(found)
	}
}

// load returns a func that reads the row.
func (l *lease) load(ctx context.Context) func() (leasestore.Row, error) {
	return func() (leasestore.Row, error) { return l.leaser.store.Load(ctx, l.row.WorkerID) }
}

// prove records the row as set by this lease. Swaps from rows with another fence can no longer take
// effect.
func (l *lease) prove(row leasestore.Row) {
	if row.Fence != l.row.Fence {
		l.tried = nil
	}
	l.row = row
}

// check returns an error when a row that was read no longer belongs to this lease.
func (l *lease) check(found leasestore.Row) error {
	switch {
	case found.Version == 0:
		return fmt.Errorf("%w: %w: row %d: run Recover, since its fence is lost, and never delete rows", ErrWorkerRowLost, leasestore.ErrRowMissing, l.row.WorkerID)
	case found.Version == l.row.Version && found.Token == "":
		l.grant.Last = min(l.grant.Last, found.Fence) // the next holder starts above it
		return fmt.Errorf("%w: row %d has been released by a copy of this process", ErrWorkerRowLost, l.row.WorkerID)
	case found.Version == l.row.Version && found.Token != l.row.Token,
		found.Version < l.row.Version, found.Fence < l.row.Fence:
		return fmt.Errorf("%w: %w: row %d: version %d and fence %d of %q, here %d and %d: the store went back to an earlier state, "+
			"by a restore or a failover; run Recover", ErrWorkerRowLost, leasestore.ErrFenceRegressed, l.row.WorkerID,
			found.Version, found.Fence, found.Owner, l.row.Version, l.row.Fence)
	case found.Revoked():
		return fmt.Errorf("%w: row %d has been revoked", ErrWorkerRowLost, l.row.WorkerID)
	case found.Free():
		return fmt.Errorf("%w: row %d has been freed, by Recover or by a later holder", ErrWorkerRowLost, l.row.WorkerID)
	case found.Version != l.row.Version || found.Token != l.row.Token: //mutate:operand a new holder changes both
		if found.Owner == l.terms.cfg.Owner {
			l.leaser.losses.Add(1)
		}
		return fmt.Errorf("%w: row %d has been taken over by %q (%s)", ErrWorkerRowLost, l.row.WorkerID, found.Owner, found.Holder)
	case !slices.Contains(l.tried, found.Fence):
		return fmt.Errorf("%w: row %d: fence %d, here %d, not raised by this lease, but by a recovery after a restore, or by a copy of this "+
			"process", ErrWorkerRowLost, l.row.WorkerID, found.Fence, l.row.Fence)
	}
	return nil
}

// End frees the row if it is released, and gives back the deltas above the highest one in use. The
// expiry is set to MaxSkew ago, so that the row is offered even if the store's clock is set back.
func (l *lease) End(ctx context.Context, e Ending) error {
	l.seat.leave()
	again := l.ended
	l.ended = true
	if again || !e.Released {
		return nil
	}
	ctx, end := storecall.Operation(ctx)
	defer end()
	held := l.row
	for held.Token == l.row.Token { // again if a renewal takes effect late
		free := held
		free.Token = ""
		if kept := l.elders.kept; kept > 0 { //mutate:number by callers; a nanosecond more
			free.Former = max(held.Former, l.elders.taken, l.terms.alloc.Delta(l.terms.alloc.Time(l.terms.domain.Now()).Add(kept)))
		}
		if l.lowers(held.Fence) {
			free.Fence = released(held.Fence, e.Used, l.grant.First)
		}
		ok, err := l.leaser.store.Swap(ctx, held, free, -l.terms.cfg.MaxSkew)
		if held, err = storecall.Swapped(ok, err, held, free, l.load(ctx)); err != nil {
			return fmt.Errorf("assigner: release row %d: %w", l.row.WorkerID, err)
		}
	}
	return nil // free, or another holder's
}

// lowers reports whether a release may lower the fence of its row. A fence that this lease has not
// set is of a recovery, or of a copy of this process that uses the deltas below it. A lease that
// was not renewed for a window may be the copy itself, such as a machine that was resumed from a
// snapshot only to be shut down.
func (l *lease) lowers(fence int64) bool {
	return (fence == l.row.Fence || slices.Contains(l.tried, fence)) && l.leaser.clock().longest(l.renewed) < l.terms.window()
}
