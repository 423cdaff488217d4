package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A lease is the holder's side of a row. The limit of its grant is the fence of the row as last
// proved: by an acknowledged swap, or by a read that shows the lease's version and token.
type lease struct {
	terms
	namespace    string
	fence        int64 // of the namespace, when the row was claimed
	guarantee    Guarantee
	first, limit int64
	row          leasestore.Row // as last proved
	pace         pace           // at the last proof
	server       string         // the server's identity at the last proof

	// For the time safe after renewed, the row cannot have another holder. renewed is the start of
	// the call that proved the row last.
	renewed instant
	safe    time.Duration
	// tried are the swaps from row without an answer; each may still take effect. Another process,
	// such as a copy of this one, has set any higher fence that is not in tried.
	tried []attempt

	quarantine *quarantine // nil: it is over, or there was none
}

// An attempt is a swap to a fence, by a renewal that started at began.
type attempt struct {
	fence int64
	began instant
}

func (l *lease) Grant() Grant {
	return Grant{WorkerID: l.row.WorkerID, First: l.first, Limit: l.limit, Guarantee: l.guarantee, Reusable: true}
}

// RenewWithin returns half of the time to live of the row.
func (l *lease) RenewWithin() time.Duration { return l.window() }

// Renew raises the fence to want, and to two windows above used and the clock, and keeps the row
// from expiring.
func (l *lease) Renew(ctx context.Context, used, want int64) error {
	began, at := l.clock(), l.domain.Now() // when used was read
	h, err := l.look(ctx)
	if err != nil {
		return err
	}
	if err := l.checkStillHeld(&h); err != nil {
		return err
	}
	pace := l.pace.follow(max(used, at), at, l.units(), l.alloc.MaxDelta())
	used = max(used, h.now)
	// Limit want, which may come from a clock that was wrong for a moment. MaxSkew is always
	// allowed.
	skew := int64(2 * l.cfg.MaxSkew / l.domain.Layout.Unit)
	most := h.most(used, l.fence)
	want = min(want, most, above(max(used, l.row.Fence), max(4*pace.span, skew), l.alloc.MaxDelta()))
	next := l.row
	next.Identity = h.status.Identity // a row that matches has lost no commit
	// Raise it by one unit at least: a late swap from the old row must fail, see Revoke.
	next.Fence = max(l.row.Fence, h.reach(l.row.Fence, 1), h.reach(want, 0), min(most, h.reach(used, 2*pace.span)))
	proved, err := l.raise(ctx, next, want, began)
	if err != nil {
		return err
	}
	if h.status.Identity != "" { // the server may have moved between the two calls
		if h, err = l.look(ctx); err != nil {
			return err
		}
	}
	if err := l.checkStillHeld(&h); err != nil {
		return err
	}
	l.limit = l.row.Fence
	l.pace, l.server, l.renewed, l.safe = pace, h.status.Identity, proved, l.exclusive()
	return nil
}

// checkStillHeld ends the lease if another process may have had the row meanwhile and the store may
// have forgotten that process: on another server, and on a lossy store. It uses both clocks of this
// host, and not the server's clock: a new server's clock may be slow. A second process of the same
// owner takes a row at once, so a Fenced lease ends whenever the server changes.
func (l *lease) checkStillHeld(h *horizon) error {
	moved := h.status.Identity != l.server
	if !h.status.Lossy && !moved {
		return nil
	}
	elapsed := l.clock().longest(l.renewed)
	if elapsed < l.safe && (h.status.Lossy || !l.atOnce) {
		return nil
	}
	if moved {
		// A successor on the new server starts above the deltas that its quarantine covers. The
		// quarantine started after the last renewal of this lease.
		l.limit = min(l.limit, h.beyond(l.renewed.wall, l.fence, h.isolation()-l.cfg.MaxSkew))
		return fmt.Errorf("%w: row %d: the server was %q and is %q, and may have lost a claim: the last renewal began %v ago, allowed: less than %v",
			ErrWorkerRowLost, l.row.WorkerID, l.server, h.status.Identity, elapsed, l.safe)
	}
	return fmt.Errorf("%w: row %d was renewed %v ago on a store that may forget, allowed: less than %v; by now it may have another holder",
		ErrWorkerRowLost, l.row.WorkerID, elapsed, l.safe)
}

// raise swaps the row for next. If an earlier swap has taken effect late and reaches want, raise
// leaves it at that. It returns the start of the renewal that has last extended the expiry of the
// row.
func (l *lease) raise(ctx context.Context, next leasestore.Row, want int64, began instant) (instant, error) {
	for {
		next.Fence = max(next.Fence, l.row.Fence)
		ok, errSwap := l.store.Swap(ctx, l.row, next, 2*l.window())
		if ok && errSwap == nil {
			l.prove(next)
			return began, nil
		}
		if errSwap != nil {
			l.tried = append(l.tried, attempt{next.Fence, began})
		}
		// Another process has changed the row, or an earlier swap took effect late, or this one may
		// have taken effect.
		found, err := l.store.Load(ctx, l.row.WorkerID)
		if err != nil {
			return began, fmt.Errorf("assigner: renew row %d: %w", l.row.WorkerID, errors.Join(errSwap, err))
		}
		if err := l.check(ctx, found); err != nil {
			return began, err
		}
		switch i := l.attempt(found.Fence); {
		case found.Same(l.row) && found.Same(next) && errSwap != nil:
			return l.renewed, nil // a swap that raises no fence leaves no trace
		case found.Same(l.row) && errSwap == nil:
			return began, fmt.Errorf("assigner: renew row %d: the store refuses the swap and shows the row unchanged", l.row.WorkerID)
		case !found.Same(l.row):
			proved := l.tried[i].began
			l.prove(found)
			if found.Fence >= want || found.Same(next) {
				return proved, nil
			}
		}
		if err := cmp.Or(errSwap, ctx.Err()); err != nil {
			return began, fmt.Errorf("assigner: renew row %d: %w", l.row.WorkerID, err)
		}
	}
}

// attempt returns the index of the first unanswered swap to a fence, or -1.
func (l *lease) attempt(fence int64) int {
	return slices.IndexFunc(l.tried, func(a attempt) bool { return a.fence == fence })
}

// prove records the row as set by this lease. Swaps from earlier states of the row can no longer
// take effect.
func (l *lease) prove(row leasestore.Row) { l.row, l.tried = row, nil }

// pace measures how fast a generator uses deltas: it had used deltas up to used when this host's
// clock was at the delta at. span is the number of deltas used in a window at that rate.
type pace struct{ used, at, span int64 }

// follow returns the pace after a use up to used at now. The span changes at most twofold or by
// half at a time, and never falls below the window at the pace of the clock.
func (p pace) follow(used, now, window, maxDelta int64) pace {
	rate := max(float64(used-p.used)/float64(max(now-p.at, 1)), 1)
	wanted := int64(min(rate*float64(window), float64(maxDelta/2)))
	return pace{used, now, max(min(max(wanted, p.span/2), 2*p.span), window)}
}

// check returns an error when a row that was read no longer belongs to this lease.
func (l *lease) check(ctx context.Context, found leasestore.Row) error {
	lost := func(sentinel error, format string, args ...any) error {
		return fmt.Errorf("%w: %w: row %d: "+format, append([]any{ErrWorkerRowLost, sentinel, l.row.WorkerID}, args...)...)
	}
	switch {
	case found.Version == 0:
		meta, err := l.store.LoadMeta(ctx)
		if err != nil && !errors.Is(err, leasestore.ErrOverlap) {
			return fmt.Errorf("assigner: read the meta row: %w", err)
		}
		if meta.Namespace != l.namespace {
			return lost(leasestore.ErrNamespaceRecreated, "namespace %q, here %q; never delete rows: fences are lost with them", meta.Namespace, l.namespace)
		}
		return lost(leasestore.ErrRowMissing, "never delete rows: fences are lost with them")
	case found.Version == l.row.Version && found.Token != l.row.Token && found.Token != "":
		return lost(leasestore.ErrFenceRegressed, "version %d belongs to %q, and belonged to this lease: the store went back to an earlier state; run Recover",
			found.Version, found.Owner)
	case found.Version < l.row.Version || found.Fence < l.row.Fence:
		return lost(leasestore.ErrFenceRegressed, "version %d and fence %d, here %d and %d: the store went back to an earlier state, "+
			"by a restore or a failover; run Recover", found.Version, found.Fence, l.row.Version, l.row.Fence)
	case found.Revoked():
		return fmt.Errorf("%w: row %d has been revoked", ErrWorkerRowLost, l.row.WorkerID)
	case found.Version != l.row.Version || found.Token != l.row.Token:
		l.lostTo(found)
		return fmt.Errorf("%w: row %d has been taken over by %q (%s)", ErrWorkerRowLost, l.row.WorkerID, found.Owner, found.Holder)
	case found.Fence != l.row.Fence && l.attempt(found.Fence) < 0:
		return fmt.Errorf("%w: row %d: fence %d, here %d, not raised by this lease, but by a recovery after a restore, or by a copy of this "+
			"process", ErrWorkerRowLost, l.row.WorkerID, found.Fence, l.row.Fence)
	}
	return nil
}

// Release frees the row and keeps its fence. The expiry is set to MaxSkew ago, so that the row is
// offered even if the store's clock is set back.
func (l *lease) Release(ctx context.Context, _ int64) error {
	l.Abandon()
	for held := l.row; ; {
		free := held
		free.Token = ""
		ok, errSwap := l.store.Swap(ctx, held, free, -l.cfg.MaxSkew)
		if ok && errSwap == nil {
			return nil
		}
		found, err := l.store.Load(ctx, l.row.WorkerID)
		switch {
		case err != nil:
			return fmt.Errorf("assigner: release row %d: %w", l.row.WorkerID, errors.Join(errSwap, err))
		case found.Token != l.row.Token:
			return nil // free, or another holder's
		case found.Same(held):
			return fmt.Errorf("assigner: release row %d: %w", l.row.WorkerID, cmp.Or(errSwap, errors.New("the store does not change the row")))
		}
		held = found // a renewal took effect late
	}
}
