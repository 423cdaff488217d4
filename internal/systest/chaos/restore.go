package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// recoveryLead has to be more than any fence has grown by since the dump. A run in which that is
// not so is at fault itself.
const recoveryLead = 15 * time.Minute

// restore follows the run book for a restore: it cuts generators off from the database, restores
// a dump, and recovers the namespace. Processes that are stopped meanwhile find changed fences
// afterwards.
func (r *chaosRun) restore(ctx context.Context, taken dump) (err error) {
	reopen := r.shutAll()
	defer func() { err = errors.Join(err, reopen()) }()
	if err := r.database.quiet(ctx); err != nil {
		return err
	}
	before, err := r.database.fences(ctx)
	if err != nil {
		return err
	}
	if err := r.database.restore(ctx, taken); err != nil {
		return err
	}
	after, err := r.database.fences(ctx)
	if err != nil {
		return err
	}
	if err := r.checkLead(before, after); err != nil {
		return err
	}
	if err := leasestore.Recover(ctx, r.database.store, recoveryLead); err != nil {
		return err
	}
	r.figures.count(restored)
	return r.database.occupy(ctx, r.options)
}

// checkLead compares the fences of the worker IDs that processes share.
func (r *chaosRun) checkLead(before, after map[int64]int64) error {
	now, unit := r.alloc.Delta(time.Now()), r.alloc.Layout().Unit
	for worker, fence := range before {
		lost := time.Duration(fence-max(after[worker], now)) * unit
		if worker >= workers || lost <= 0 {
			continue
		}
		r.figures.wentBack(lost)
		if lost >= recoveryLead {
			return fmt.Errorf("the fence of worker %d has grown by %v since the dump, more than the recovery raises it by (%v)", worker, lost, recoveryLead)
		}
	}
	return nil
}
