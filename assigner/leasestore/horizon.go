package leasestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/internal/storecall"
)

// Horizon returns an ID below which a namespace is complete: all smaller IDs have been issued, or
// never will be. A reader that takes the rows of a table in the order of their IDs, up to the
// horizon, therefore skips no row that is added later.
//
// Each holder stores the oldest delta of which it may still issue an ID when it claims or renews
// its lease. The horizon is the first ID of the smallest of these deltas, or of the present unit by
// the store's clock if that is earlier. So it is up to one renewal old, which is 45 s or the Window
// of the leases if that is shorter, and MaxStaleness of package cached. IDs ahead of the clock are
// above the horizon until the clock reaches them; MaxAhead of package cached bounds that. A result
// may be lower than an earlier one, which still holds.
//
// After a crash the horizon stands still until the lease has expired and its fence has been in the
// past for two minutes. If another process takes the worker ID before, it stands until the fence
// has been in the past for a minute, since the last holder may live and use up its grant. In a
// crash loop it is at most two windows and two minutes behind. With an ID service it also stays
// behind the IDs that clients keep, see KeptFor of package assigner.
//
// First, Horizon stores the present delta as Meta.Horizon. Every later claim begins above it, even
// if the clock of its host is behind, and package backdate finds no unused past in the namespace.
// Then Horizon reads all rows, so call it every few seconds, from a few processes.
//
// The horizon holds under these conditions. All IDs come from leases of the namespace. The store
// keeps the commits that it acknowledges. A holder that was paused or suspended until its fence was
// in the past for a minute, and its lease had expired or another process had its worker ID, may
// issue lower IDs; so may a holder whose row was recovered, and a copy of a process. Package
// backdate is not in use any more. A holder that cannot reach the store has a MaxStaleness that is
// below a minute together with the time by which its host's clock is behind the store's, and this
// clock is not set back by minutes meanwhile. The clock of the store is at most a minute ahead;
// etcd and files have the clock of the host that calls Horizon. Generators of package cached have a
// MaxStaleness, or the horizon stands at the beginning of their leases. IDs of a long call, such as
// FillContext, may be below the horizon before it returns, and until their rows are committed.
//
// Horizon returns an error for a lossy store, for a namespace that was never used, while a recovery
// is not finished, and [ErrClockSkew] when the store's clock is more than a minute ahead of this
// host's.
func Horizon(ctx context.Context, store Store) (id int64, err error) {
	defer named("Horizon", &err)
	o, err := begin(ctx, store)
	if err != nil {
		return 0, err
	}
	if ahead := time.Until(o.status.Now); ahead > storecall.ClockBound { //mutate:operator a nanosecond of a clock
		return 0, fmt.Errorf("%w: the store's clock is %v ahead of this host's, allowed: %v; correct the clock that is wrong", ErrClockSkew, ahead, storecall.ClockBound)
	}
	delta := min(max(o.alloc.Delta(o.status.Now), 1), o.alloc.MaxDelta())
	// Horizon reads the rows after this, and a claim reads the meta row after it has written its
	// own row. So either the claim sees the new value and begins above it, or Horizon sees the row.
	// Horizon writes also if another call has stored that value: the store may show a commit before
	// it is on disk, and a commit after it proves that it is.
	for stored := false; !stored; {
		if o.meta.Recovering() {
			return 0, errors.New("a recovery of the namespace is not finished")
		}
		next := o.meta
		next.Horizon = max(next.Horizon, delta-1)
		if stored, err = o.swapMeta(next, ""); err != nil {
			return 0, err
		}
	}
	rows, err := store.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the rows: %w", err)
	}
	passed := o.alloc.Delta(o.status.Now.Add(-storecall.ClockBound))
	gone := o.alloc.Delta(o.status.Now.Add(-storecall.ClockBound - storecall.KeepBound))
	for _, row := range rows {
		if oldest, ok := row.pending(o.status.Now, passed, gone); ok {
			delta = min(delta, oldest)
		}
	}
	return o.alloc.MinAt(o.alloc.Time(delta)), nil
}

// pending returns the lowest delta of which an ID of the row may still appear, and false if none
// may. A holder is gone, with the IDs that its callers keep, when its lease has expired and its
// deltas are all below gone. The fence of a released row with a Former is above the deltas of all
// holders that did not release it; a recovery has raised the fence of its rows far above these.
func (r Row) pending(now time.Time, passed, gone int64) (int64, bool) {
	if r.Former >= passed {
		return r.Oldest, true
	}
	held := !r.Free() && r.Expires.After(now)
	return max(r.Oldest, r.Former+1), held || r.Fence >= gone && (!r.Free() || r.Token == "" && r.Former != 0)
}
