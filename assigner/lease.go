package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A lease holds a row. The limit of its grant is the fence of the row as last proved: by a swap that changed
// it, or by a read that shows token, version and fence.
type lease struct {
	store     Store
	domain    Domain
	namespace string
	window    int64 // of real time, in units
	maxDelta  int64
	ttl       time.Duration
	guarantee Guarantee
	first     int64
	row       Row // as last proved

	// tried are the fences that swaps from row were to leave, of those that were not answered: each of them may
	// still take effect. A higher fence that is none of them is not of this lease's making.
	tried []int64

	// How fast ID time is used: up to used at the delta at, by this host's clock. span is the window at
	// that rate.
	used, at, span int64
}

func (l *lease) Grant() Grant {
	return Grant{WorkerID: l.row.WorkerID, First: l.first, Limit: l.row.Fence, Guarantee: l.guarantee, Reusable: true}
}

// Renew raises the fence to want and a window above it, and keeps the row from expiring.
func (l *lease) Renew(ctx context.Context, used, want int64) error {
	l.follow(used)
	next := l.row
	next.Fence = max(l.row.Fence, above(max(want, used), l.span, l.maxDelta))
	for {
		ok, errSwap := l.store.Swap(ctx, l.row, next, l.ttl)
		if ok && errSwap == nil {
			l.prove(next.Fence)
			return nil
		}
		if errSwap != nil && !slices.Contains(l.tried, next.Fence) {
			l.tried = append(l.tried, next.Fence)
		}
		// Somebody else has changed the row, or an earlier swap of ours took effect late, or it is not known
		// whether this one did.
		found, err := l.store.Load(ctx, l.row.WorkerID)
		if err != nil {
			return fmt.Errorf("assigner: renew row %d: %w", l.row.WorkerID, errors.Join(errSwap, err))
		}
		if err := l.check(ctx, found); err != nil {
			return err
		}
		unchanged := found.same(l.row)
		if !unchanged {
			l.prove(found.Fence)
		}
		switch {
		case found.Fence >= want && !unchanged, found.same(next):
			return nil
		case errSwap != nil:
			return fmt.Errorf("assigner: renew row %d: %w", l.row.WorkerID, errSwap)
		case unchanged:
			return fmt.Errorf("assigner: renew row %d: the store refuses the swap and shows the row unchanged", l.row.WorkerID)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// above returns delta + span, or most where that is less.
func above(delta, span, most int64) int64 {
	if delta >= most || span >= most-delta {
		return most
	}
	return delta + span
}

// prove notes that the fence was raised by this lease. Swaps from the fence before can no longer take effect.
func (l *lease) prove(fence int64) { l.row.Fence, l.tried = fence, nil }

// follow sets the span by the rate at which deltas are used, at most twofold or half at a time, and never below
// the window at the pace of the clock.
func (l *lease) follow(used int64) {
	now := l.domain.Now()
	rate := max(float64(used-l.used)/float64(max(now-l.at, 1)), 1)
	wanted := int64(min(rate*float64(l.window), float64(l.maxDelta/2)))
	l.span = max(min(max(wanted, l.span/2), 2*l.span), l.window)
	l.used, l.at = used, now
}

// check says whether a row that was read is still this lease's.
func (l *lease) check(ctx context.Context, found Row) error {
	lost := func(sentinel error, format string, args ...any) error {
		return fmt.Errorf("%w: %w: row %d: "+format, append([]any{ErrWorkerRowLost, sentinel, l.row.WorkerID}, args...)...)
	}
	switch {
	case found.Version == 0:
		meta, err := l.store.LoadMeta(ctx)
		if err != nil {
			return fmt.Errorf("assigner: read the meta row: %w", err)
		}
		if meta.Namespace != l.namespace {
			return lost(ErrNamespaceRecreated, "namespace %q, here %q; never delete rows: fences are lost with them", meta.Namespace, l.namespace)
		}
		return lost(ErrWorkerRowMissing, "never delete rows: fences are lost with them")
	case found.Version < l.row.Version || found.Fence < l.row.Fence:
		return lost(ErrFenceRegressed, "version %d and fence %d, here %d and %d; after a restore or a failover that lost commits "+
			"all fences have to be raised", found.Version, found.Fence, l.row.Version, l.row.Fence)
	case found.Version != l.row.Version || found.Token != l.row.Token:
		return fmt.Errorf("%w: row %d has been taken over by %q after it had expired or was released", ErrWorkerRowLost, l.row.WorkerID, found.Owner)
	case found.Fence != l.row.Fence && !slices.Contains(l.tried, found.Fence):
		return fmt.Errorf("%w: row %d: fence %d, here %d, raised by somebody else, such as the recovery after a restore, or by a copy of this "+
			"process", ErrWorkerRowLost, l.row.WorkerID, found.Fence, l.row.Fence)
	}
	return nil
}

// Release frees the row. The fence stays: it is never lowered.
func (l *lease) Release(ctx context.Context, _ int64) error {
	for held := l.row; ; {
		free := held
		free.Token = ""
		ok, errSwap := l.store.Swap(ctx, held, free, 0)
		if ok && errSwap == nil {
			return nil
		}
		found, err := l.store.Load(ctx, l.row.WorkerID)
		switch {
		case err != nil:
			return fmt.Errorf("assigner: release row %d: %w", l.row.WorkerID, errors.Join(errSwap, err))
		case found.Token != l.row.Token:
			return nil // free, or somebody else's
		case found.same(held):
			return fmt.Errorf("assigner: release row %d: %w", l.row.WorkerID, cmp.Or(errSwap, errors.New("the store does not change it")))
		}
		held = found // a renewal has taken effect late
	}
}
