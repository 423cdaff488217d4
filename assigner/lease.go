package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// terms are what the leases of an assigner for a domain have in common.
type terms struct {
	*leaser
	domain Domain
	alloc  *bitsalloc.Allocator
}

// window is how long the store may be out of reach, one unit at least.
func (t *terms) window() time.Duration { return max(t.cfg.Window, t.domain.Layout.Unit) }

// units are those of the window.
func (t *terms) units() int64 { return int64(t.window() / t.domain.Layout.Unit) }

// look returns what the server says of itself, and the present delta by this host's clock. It refuses a store
// that forgets, and clocks that disagree.
func (t *terms) look(ctx context.Context) (Status, int64, error) {
	status, err := t.store.Status(ctx)
	if err != nil {
		return status, 0, fmt.Errorf("assigner: look at the store: %w", err)
	}
	if len(status.Faults) > 0 && !t.cfg.AllowUndurable {
		return status, 0, fmt.Errorf("%w: %s; correct that, or set AllowUndurable to take the risk", ErrStoreNotDurable, strings.Join(status.Faults, "; "))
	}
	now := t.domain.Now()
	if skew := t.alloc.Time(now).Sub(status.Now); skew.Abs() > t.cfg.MaxSkew+t.domain.Layout.Unit {
		return status, 0, fmt.Errorf("%w: this host is %v ahead of the store, allowed: %v either way; correct the clock that is wrong",
			ErrClockSkew, skew, t.cfg.MaxSkew)
	}
	return status, now, nil
}

// reach is the fence for use up to delta and span above it. A store that may forget bounds it by its own clock, so that
// what it has forgotten lies in the past when the next holder comes out of quarantine.
func (t *terms) reach(status Status, delta, span int64) int64 {
	most := t.alloc.MaxDelta()
	if status.Lossy {
		most = min(most, t.alloc.Delta(status.Now)+t.units())
	}
	return above(delta, span, most)
}

// A lease holds a row. The limit of its grant is the fence of the row as last proved, by a swap that changed
// it or by a read that shows token, version and fence, where nothing has come into doubt since.
type lease struct {
	terms
	namespace    string
	guarantee    Guarantee
	first, limit int64
	row          Row       // as last proved
	pace         pace      // as of then
	server       string    // its identity then
	ends         time.Time // by the store's clock: what happens after it may be forgotten

	quarantine *quarantine // nil: it is over, or there was none

	// tried are the fences that swaps from row were to leave, of those that were not answered: each of them may
	// still take effect. A higher fence that is none of them is not of this lease's making.
	tried []int64
}

func (l *lease) Grant() Grant {
	return Grant{WorkerID: l.row.WorkerID, First: l.first, Limit: l.limit, Guarantee: l.guarantee, Reusable: true}
}

// RenewWithin is half of the time that the row takes to expire.
func (l *lease) RenewWithin() time.Duration { return l.window() }

// Renew raises the fence to want, and to two windows above used and the clock, and keeps the row from expiring.
func (l *lease) Renew(ctx context.Context, used, want int64) error {
	at := l.domain.Now() // when used was read
	status, _, err := l.look(ctx)
	if err != nil {
		return err
	}
	if err := l.doubt(status); err != nil {
		return err
	}
	pace := l.pace.follow(used, at, l.units(), l.alloc.MaxDelta())
	next := l.row
	next.Identity = status.Identity // a row that matches has lost nothing
	// One unit at least: a swap from the row as it was before must not find it unchanged, see Revoke.
	next.Fence = max(l.row.Fence, l.reach(status, l.row.Fence, 1), l.reach(status, want, 0), l.reach(status, max(used, at), 2*pace.span))
	next.Expires = status.Now.Add(2 * l.window())
	if err := l.raise(ctx, next, want); err != nil {
		return err
	}
	if status.Identity != "" { // the server may have moved between the two calls
		if status, _, err = l.look(ctx); err != nil {
			return err
		}
		if err := l.doubt(status); err != nil {
			return err
		}
	}
	l.limit = l.row.Fence
	l.pace, l.server, l.ends = pace, status.Identity, l.sure(status)
	if l.row.Expires.Before(l.ends) { // an earlier swap was found to have taken effect, and nothing since
		l.ends = l.row.Expires
	}
	return nil
}

// sure is until when nobody else can have a row that is renewed now. It expires after two windows, by the clock of a server
// that may be another one by then. Where the store may forget, it is no longer than a grant reaches.
func (t *terms) sure(status Status) time.Time {
	if status.Lossy {
		return status.Now.Add(t.window())
	}
	return status.Now.Add(3 * t.window() / 2)
}

// doubt gives up the lease where somebody else may have had the row meanwhile, and the store may have forgotten that. Nobody
// can have had it before it expired, but for another process of the same owner, which a lossy store does not let in either.
func (l *lease) doubt(status Status) error {
	moved := status.Identity != l.server
	if !status.Lossy && !moved {
		return nil
	}
	if !status.Now.After(l.ends) && (status.Lossy || !l.atOnce) {
		return nil
	}
	if moved {
		return fmt.Errorf("%w: row %d: the server was %q and is %q, which may have lost commits", ErrWorkerRowLost, l.row.WorkerID, l.server, status.Identity)
	}
	return fmt.Errorf("%w: row %d was to be renewed by %s on a store that may forget, and it is %s there; by now it may be another's",
		ErrWorkerRowLost, l.row.WorkerID, stamp(l.ends), stamp(status.Now))
}

// raise swaps the row for next. It is content with less if an earlier swap has taken effect that reaches want.
func (l *lease) raise(ctx context.Context, next Row, want int64) error {
	for {
		next.Fence = max(next.Fence, l.row.Fence)
		ok, errSwap := l.store.Swap(ctx, l.row, next, 2*l.window())
		if ok && errSwap == nil {
			l.prove(next)
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
			l.prove(found)
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

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// above returns delta + span, or most where that is less.
func above(delta, span, most int64) int64 {
	if delta >= most || span >= most-delta {
		return most
	}
	return delta + span
}

// prove notes that the row was raised by this lease. Swaps from the row before can no longer take effect.
func (l *lease) prove(row Row) { l.row, l.tried = row, nil }

// pace is how fast ID time is used: up to used at the delta at, by this host's clock. span is the window at that rate.
type pace struct{ used, at, span int64 }

// follow returns the pace after a use up to used at now. The span changes at most twofold or by half at a time, and never
// falls below the window at the pace of the clock.
func (p pace) follow(used, now, window, maxDelta int64) pace {
	rate := max(float64(used-p.used)/float64(max(now-p.at, 1)), 1)
	wanted := int64(min(rate*float64(window), float64(maxDelta/2)))
	return pace{used, now, max(min(max(wanted, p.span/2), 2*p.span), window)}
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
	case found.Version == l.row.Version && found.Token != l.row.Token && found.Token != "":
		return lost(ErrFenceRegressed, "version %d is %q's here, and was this lease's: the store has gone back; all fences have to be raised",
			found.Version, found.Owner)
	case found.Version < l.row.Version || found.Fence < l.row.Fence:
		return lost(ErrFenceRegressed, "version %d and fence %d, here %d and %d; after a restore or a failover that lost commits "+
			"all fences have to be raised", found.Version, found.Fence, l.row.Version, l.row.Fence)
	case found.Revoked():
		return fmt.Errorf("%w: row %d has been revoked", ErrWorkerRowLost, l.row.WorkerID)
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
