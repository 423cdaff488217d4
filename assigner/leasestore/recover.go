package leasestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/storecall"
)

// recoveringFormat is the start of the token of a meta row while a recovery is under way, with the
// lead of the recovery in units.
const (
	recoveringPrefix = "recovering-"
	recoveringFormat = recoveringPrefix + "%d-"
)

// Recovering reports whether [Recover] has started and not finished. Claims are rejected meanwhile.
func (m Meta) Recovering() bool { return strings.HasPrefix(m.Token, recoveringPrefix) }

// Recover makes the namespace of a store safe again after the store went back to an earlier state,
// by a restore from a backup or by a failover that lost commits. It raises every fence to lead
// above its value or above the present time, whichever is later, and takes every row from its
// holder. Worker IDs whose rows were lost start above the same fence.
//
// Recover is safe under three conditions. lead is more than any generator had run ahead of the
// clock, its window included, and more than any clock was ahead. No claim and no renewal reaches
// the store between its return to the earlier state and the end of Recover: a holder that has lost
// its row may find it again in the earlier state. The clock of the store is right.
//
// Running generators notice that their rows have changed, and take other worker IDs; the IDs they
// have prepared stay valid. New IDs then lie up to lead ahead of the clock. Recover returns an
// error for a lossy store, which needs no recovery.
//
// A worker ID whose row was deleted gets a row again.
//
// After an error, call Recover again: it goes on where it stopped, with the lead of the first call,
// and adds it only once. With a larger lead it begins anew. Assign on the namespace returns an
// error until Recover has returned nil.
func Recover(ctx context.Context, store Store, lead time.Duration) error {
	r := &recovery{ctx: ctx, store: store}
	if err := r.run(lead); err != nil {
		return fmt.Errorf("leasestore: Recover: %w", err)
	}
	return nil
}

// A recovery is one call of Recover.
type recovery struct {
	ctx            context.Context
	store          Store
	identity       string
	meta           Meta // as the recovery has left it
	now, lead, max int64
}

func (r *recovery) run(lead time.Duration) error {
	if lead < 0 {
		return fmt.Errorf("lead %v, allowed: 0 or more", lead)
	}
	status, err := r.store.Status(r.ctx)
	if err != nil {
		return fmt.Errorf("read the status of the store: %w", err)
	}
	if status.Lossy {
		return errors.New("the store is lossy and quarantines every claim: there is nothing to recover")
	}
	r.identity = status.Identity
	if err := r.raiseMeta(status.Now, lead); err != nil {
		return err
	}
	if err := r.raiseRows(); err != nil {
		return err
	}
	// Allow claims again. Another call may have ended the recovery.
	if _, err := r.swapMeta(r.meta, ""); err != nil || !r.meta.Recovering() {
		return err
	}
	return errors.New("another recovery has begun meanwhile; call Recover again")
}

// raiseMeta runs first: rows that are created later start above the fence of the namespace. Its
// token records the lead by which the fence was raised, and marks the rows that are done.
func (r *recovery) raiseMeta(now time.Time, lead time.Duration) error {
	for {
		next, err := loadMeta(r.ctx, r.store)
		if err != nil {
			return err
		}
		if next.Version == 0 {
			return errors.New("the meta row does not exist: the namespace was never used, or its rows were deleted, which must never happen")
		}
		alloc, err := bitsalloc.New(next.Layout, next.Epoch)
		if err != nil {
			return err
		}
		r.meta, r.now, r.max = next, alloc.Delta(now), alloc.MaxDelta()
		r.lead = int64((lead + next.Layout.Unit - 1) / next.Layout.Unit)
		begun := int64(-1) // the lead of the recovery that is under way
		_, _ = fmt.Sscanf(next.Token, recoveringFormat, &begun)
		if r.lead <= begun && next.Identity == r.identity {
			r.lead = begun
			return nil
		}
		next.Fence, next.Identity = r.above(next.Fence), r.identity
		if ok, err := r.swapMeta(next, fmt.Sprintf(recoveringFormat, r.lead)); ok || err != nil {
			return err
		}
	}
}

// swapMeta replaces the meta row that was read by next, with a new version and a new token, and
// reports whether it did. r.meta is then the meta row that the store has.
func (r *recovery) swapMeta(next Meta, prefix string) (bool, error) {
	next.Version++
	next.Token = prefix + rand.Text()
	ok, err := r.store.SwapMeta(r.ctx, r.meta, next)
	if r.meta, err = storecall.Swapped(ok, err, r.meta, next, func() (Meta, error) { return loadMeta(r.ctx, r.store) }); err != nil {
		return false, fmt.Errorf("the meta row: %w", err)
	}
	return r.meta.Same(next), nil
}

// raiseRows raises the fences of all rows, and creates the rows that are missing. It stores the
// recovery's token in each row, which expires at once and counts as free.
func (r *recovery) raiseRows() error {
	found, err := r.store.List(r.ctx)
	if err != nil {
		return fmt.Errorf("list the rows: %w", err)
	}
	rows := make(map[int64]Row)
	for number := r.meta.FirstWorkerID; number < r.meta.NextWorkerID; number++ {
		rows[number] = Row{}
	}
	for _, row := range found {
		rows[row.WorkerID] = row
	}
	for _, number := range slices.Sorted(maps.Keys(rows)) {
		for row := rows[number]; row.Token != r.meta.Token; {
			next := row
			next.WorkerID = number
			next.Version++ // or a holder could take the fence for its own renewal
			next.Fence = max(r.above(row.Fence), r.meta.Fence)
			next.Token, next.Identity = r.meta.Token, r.identity
			if row, err = swapRow(r.ctx, r.store, row, next, 0); err != nil {
				return fmt.Errorf("row %d: %w", number, err)
			}
		}
	}
	return nil
}

// above returns the fence that lies lead above fence or above the present, whichever is higher, but
// not beyond the layout.
func (r *recovery) above(fence int64) int64 {
	from, most := max(fence, r.now), max(fence, r.max)
	return from + min(r.lead, most-from)
}
