package assigner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Recover makes the namespace of a store usable again after the store went back to an earlier
// state, by a restore from a backup or a failover that lost commits. It raises every fence to lead
// above its value, or above the present time where that is later, takes every row from its holder,
// and makes worker IDs whose rows were lost begin there, too.
//
// It is safe when lead is more than any generator had run ahead of the clock, its window included,
// and more than any clock was ahead; when no claim reaches the store between its return to the
// earlier state and the end of Recover; and when the clock of the store is right. Generators that
// were running notice that their rows have changed, and take others; what they had prepared stays
// valid. New IDs then lie up to lead ahead of the clock. A lossy store needs no recovery, and
// refuses it.
//
// A worker ID below the counter whose row is missing, since the row was deleted, gets a row again.
//
// After an error, call it again: it goes on where it ended, and adds lead once. Until it has ended
// without an error, Assign on the namespace returns an error.
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
	there := make(map[int64]bool, len(rows))
	for _, row := range rows {
		there[row.WorkerID] = true
		if err := r.raiseRow(row); err != nil {
			return fmt.Errorf("assigner: Recover: row %d: %w", row.WorkerID, err)
		}
	}
	for number := r.meta.FirstWorkerID; number < r.meta.NextWorkerID; number++ {
		if there[number] {
			continue
		}
		if err := r.createRow(number); err != nil {
			return fmt.Errorf("assigner: Recover: row %d: %w", number, err)
		}
	}
	if err := r.end(); err != nil {
		return fmt.Errorf("assigner: Recover: the meta row: %w", err)
	}
	return nil
}

var errEmptyNamespace = errors.New("there is none: nobody has used this namespace, or it was deleted, as rows must never be")

// A recovery is one call of Recover.
type recovery struct {
	ctx            context.Context
	store          Store
	identity       string
	meta           Meta // as the recovery has left it
	now, lead, max int64
}

// raiseMeta comes first: rows that are created from then on begin above its fence. The token shows
// that it has been done, and marks the rows that have been raised.
func (r *recovery) raiseMeta(now time.Time, lead time.Duration) error {
	for {
		old, err := r.store.LoadMeta(r.ctx)
		if err != nil && !errors.Is(err, ErrWorkerOverlap) {
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
		if old.recovering() && old.Identity == r.identity {
			r.meta = old
			return nil
		}
		next := old
		next.Version++
		next.Fence = r.above(old.Fence)
		next.Token = recoveringPrefix + rand.Text()
		next.Identity = r.identity
		ok, err := r.store.SwapMeta(r.ctx, old, next)
		r.meta = next
		if ok || err != nil {
			return err
		}
	}
}

// end opens the namespace again.
func (r *recovery) end() error {
	next := r.meta
	next.Version++
	next.Token = rand.Text()
	ok, err := r.store.SwapMeta(r.ctx, r.meta, next)
	if err != nil || ok {
		return err
	}
	found, err := r.store.LoadMeta(r.ctx)
	switch {
	case err != nil && !errors.Is(err, ErrWorkerOverlap):
		return err
	case found.recovering():
		return errors.New("another recovery has begun meanwhile; call Recover again")
	}
	return nil
}

// raiseRow leaves the token of the recovery in the row: it has expired at once, and is taken like a
// free one.
func (r *recovery) raiseRow(old Row) error {
	for old.Token != r.meta.Token {
		next := old
		next.Version++ // or a holder could take the fence for one that it asked for itself
		next.Fence = r.above(old.Fence)
		next.Token = r.meta.Token
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
	return nil
}

// createRow makes a row for a number that has none. Where it is there after all, it was raised.
func (r *recovery) createRow(number int64) error {
	row := Row{WorkerID: number, Version: 1, Fence: r.meta.Fence, Token: r.meta.Token, Identity: r.identity}
	_, err := r.store.Swap(r.ctx, Row{}, row, 0)
	return err
}

func (r *recovery) above(fence int64) int64 {
	return above(max(fence, r.now), r.lead, max(fence, r.max))
}
