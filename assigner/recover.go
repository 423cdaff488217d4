package assigner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Recover makes the namespace of a store usable again after the store went back to an earlier state, by a restore
// from a backup or a failover that lost commits. It raises every fence to lead above its value, or above the present
// time where that is later, takes every row from its holder, and makes worker IDs whose rows were lost begin there, too.
//
// It is safe when lead is more than any generator had run ahead of the clock, its window included, and more than any
// clock was ahead; when no claim reaches the store between its return to the earlier state and the end of Recover; and
// when the clock of the store is right. Generators that were running notice that their rows have changed, and take
// others; what they had prepared stays valid. New IDs then lie up to lead ahead of the clock. A lossy store needs no
// recovery, and refuses it.
//
// It may be called again after an error; each call raises the fences again.
func Recover(ctx context.Context, store Store, lead time.Duration) error {
	if lead < 0 {
		return fmt.Errorf("assigner: Recover: lead %v, allowed: 0 or more", lead)
	}
	status, err := store.Status(ctx)
	if err != nil {
		return fmt.Errorf("assigner: Recover: look at the store: %w", err)
	}
	if status.Lossy {
		return errors.New("assigner: Recover: the store calls itself lossy: every claim on it is quarantined, and there is nothing to recover")
	}
	r := &recovery{ctx: ctx, store: store, identity: status.Identity}
	if err := r.raiseMeta(status.Now, lead); err != nil {
		return fmt.Errorf("assigner: Recover: the meta row: %w", err)
	}
	rows, err := store.List(ctx)
	if err != nil {
		return fmt.Errorf("assigner: Recover: list the rows: %w", err)
	}
	for _, row := range rows {
		if err := r.raiseRow(row); err != nil {
			return fmt.Errorf("assigner: Recover: row %d: %w", row.WorkerID, err)
		}
	}
	return nil
}

var errEmptyNamespace = errors.New("there is none: nobody has used this namespace, or it was deleted, as rows must never be")

// A recovery is one call of Recover.
type recovery struct {
	ctx            context.Context
	store          Store
	identity       string
	now, lead, max int64
}

// raiseMeta comes first: rows that are created from then on begin above its fence.
func (r *recovery) raiseMeta(now time.Time, lead time.Duration) error {
	for {
		old, err := r.store.LoadMeta(r.ctx)
		if err != nil {
			return err
		}
		if old.Version == 0 {
			return errEmptyNamespace
		}
		alloc, err := bitsalloc.New(old.Layout, old.Epoch)
		if err != nil {
			return err
		}
		r.now, r.max = alloc.Delta(now), alloc.MaxDelta()
		r.lead = int64((lead + old.Layout.Unit - 1) / old.Layout.Unit)
		next := old
		next.Version++
		next.Fence = r.above(old.Fence)
		next.Token = rand.Text()
		next.Identity = r.identity
		if ok, err := r.store.SwapMeta(r.ctx, old, next); ok || err != nil {
			return err
		}
	}
}

func (r *recovery) raiseRow(old Row) error {
	for {
		next := old
		next.Version++ // or a holder could take the fence for one that it asked for itself
		next.Fence = r.above(old.Fence)
		next.Token = ""
		next.Identity = r.identity
		if ok, err := r.store.Swap(r.ctx, old, next, 0); ok || err != nil {
			return err
		}
		found, err := r.store.Load(r.ctx, old.WorkerID)
		switch {
		case err != nil:
			return err
		case found.Version == 0:
			return ErrWorkerRowMissing
		}
		old = found
	}
}

func (r *recovery) above(fence int64) int64 {
	return above(max(fence, r.now), r.lead, max(fence, r.max))
}
