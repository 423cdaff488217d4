package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
)

// renew renews the lease of the grant held.
func (k *Keeper) renew(ctx context.Context, held *Grant) error {
	ctx, cancel := context.WithTimeout(ctx, min(k.AssignTimeout, renewTimeout))
	defer cancel()
	oldest := k.hooks.Oldest()
	used, position := k.hooks.Deltas()
	used = min(used, position, k.highest)
	want := k.want.Load()
	grant, err := k.lease.Renew(ctx, assigner.Use{Used: used, Want: max(position, want), Oldest: oldest})
	if err == nil && grant.WorkerID != held.WorkerID {
		err = fmt.Errorf("%w: a renewal of worker ID %d has returned worker ID %d", assigner.ErrWorkerRowLost, held.WorkerID, grant.WorkerID)
	}
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		k.lose(held, grant, err)
	}
	if err != nil {
		return err
	}
	k.Renewals.Add(1)
	k.highest = max(k.highest, grant.Last)
	k.want.CompareAndSwap(want, 0) // a generator that still needs a refused delta asks again
	k.refused = nextDelay(k.refused)
	if grant.Last >= want {
		k.refused = 0
	}
	if position > grant.Last { // the clock was wrong for a moment, or is ahead of a lossy store
		position = min(used, grant.Last)
	}
	renewed := *held
	renewed.grow(position, grant.Last, k.Alloc.Layout().Unit) // nothing else of a grant may change
	k.announce(&renewed)
	if k.current.CompareAndSwap(held, &renewed) { // fails after Invalidate
		k.latest.Store(&renewed)
		if k.refused > 0 || renewed.Last != held.Last {
			k.changed.Wake()
		}
	}
	return nil
}

// lose records that the lease of the grant held has ended; the lease gives grant now. The part
// of the grant that may still be used stays current: none if the worker ID may have a new holder
// in the same deltas, since there is no fence or the store has lost it.
func (k *Keeper) lose(held *Grant, grant assigner.Grant, err error) {
	var left *Grant
	gone := errors.Is(err, leasestore.ErrFenceRegressed) || errors.Is(err, leasestore.ErrRowMissing)
	if held.Fenced() && grant.WorkerID == held.WorkerID && !gone {
		left = new(*held)
		left.Last = min(held.Last, grant.Last)
		left.Half = math.MaxInt64 // it cannot be extended
		left.lost = true
	}
	if !k.current.CompareAndSwap(held, left) { // after Invalidate
		return
	}
	k.lastErr.Store(&err)
	if left != nil {
		k.latest.Store(left)
		// If the limit was lowered, IDs above it may be prepared. Deltas waits for a pass that
		// composes under the old limit.
		if used, _ := k.hooks.Deltas(); used > left.Last && k.current.CompareAndSwap(left, nil) {
			left = nil
		}
	}
	if left == nil {
		k.hooks.Ended()
	}
	k.Logger.Error("worker ID lost", "worker", held.WorkerID, "error", err)
	generator.Report(k.Logger, "LeaseLost", k.Trace.LeaseLost, assigner.LeaseInfo{Grant: held.Grant, Err: err})
}
