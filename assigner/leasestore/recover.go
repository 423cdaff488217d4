package leasestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// recoveringPrefix starts the token of a meta row while a recovery is under way. The lead of the
// recovery follows, in units.
const (
	recoveringPrefix = "recovering-"
	recoveringFormat = recoveringPrefix + "%d-"
)

// Recovering reports whether [Recover] has started and not finished. Claims are rejected meanwhile.
func (m Meta) Recovering() bool { return strings.HasPrefix(m.Token, recoveringPrefix) }

// recovered returns the lead of the recovery that is under way, or -1.
func (m Meta) recovered() int64 {
	var lead int64
	if n, _ := fmt.Sscanf(m.Token, recoveringFormat, &lead); n == 0 {
		return -1
	}
	return lead
}

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
	if lead < 0 {
		return fmt.Errorf("leasestore: Recover: lead %v, allowed: 0 or more", lead)
	}
	status, err := store.Status(ctx)
	if err != nil {
		return fmt.Errorf("leasestore: Recover: read the status of the store: %w", err)
	}
	if status.Lossy {
		return errors.New("leasestore: Recover: the store is lossy and quarantines every claim: there is nothing to recover")
	}
	r := &recovery{ctx: ctx, store: store, identity: status.Identity}
	if err := r.raiseMeta(status.Now, lead); err != nil {
		return fmt.Errorf("leasestore: Recover: the meta row: %w", err)
	}
	rows, err := store.List(ctx)
	if err != nil {
		return fmt.Errorf("leasestore: Recover: list the rows: %w", err)
	}
	there := make(map[int64]bool, len(rows))
	for _, row := range rows {
		there[row.WorkerID] = true
		if err := r.raiseRow(row); err != nil {
			return fmt.Errorf("leasestore: Recover: row %d: %w", row.WorkerID, err)
		}
	}
	for number := r.meta.FirstWorkerID; number < r.meta.NextWorkerID; number++ {
		if there[number] {
			continue
		}
		if err := r.createRow(number); err != nil {
			return fmt.Errorf("leasestore: Recover: row %d: %w", number, err)
		}
	}
	if err := r.end(); err != nil {
		return fmt.Errorf("leasestore: Recover: the meta row: %w", err)
	}
	return nil
}

var errEmptyNamespace = errors.New("it does not exist: the namespace was never used, or its rows were deleted, which must never happen")

// A recovery is one call of Recover.
type recovery struct {
	ctx            context.Context
	store          Store
	identity       string
	meta           Meta // as the recovery has left it
	now, lead, max int64
}

// raiseMeta runs first: rows that are created later start above the fence of the namespace. Its
// token records the lead by which the fence was raised, and marks the rows that are done.
func (r *recovery) raiseMeta(now time.Time, lead time.Duration) error {
	for {
		old, err := r.store.LoadMeta(r.ctx)
		if err != nil && !errors.Is(err, ErrOverlap) {
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
		if begun := old.recovered(); r.lead <= begun && old.Identity == r.identity {
			r.meta, r.lead = old, begun
			return nil
		}
		next := old
		next.Version++
		next.Fence = r.above(old.Fence)
		next.Token = fmt.Sprintf(recoveringFormat, r.lead) + rand.Text()
		next.Identity = r.identity
		ok, err := r.store.SwapMeta(r.ctx, old, next)
		r.meta = next
		if ok || err != nil {
			return err
		}
	}
}

// end allows claims on the namespace again.
func (r *recovery) end() error {
	next := r.meta
	next.Version++
	next.Token = rand.Text()
	ok, errSwap := r.store.SwapMeta(r.ctx, r.meta, next)
	if ok && errSwap == nil {
		return nil
	}
	found, err := r.store.LoadMeta(r.ctx)
	switch {
	case err != nil && !errors.Is(err, ErrOverlap):
		return errors.Join(errSwap, err)
	case !found.Recovering(): // the answer was lost, or another call has ended the recovery
		return nil
	case errSwap != nil:
		return errSwap
	}
	return errors.New("another recovery has begun meanwhile; call Recover again")
}

// raiseRow stores the recovery's token in the row. The row expires at once and counts as free.
func (r *recovery) raiseRow(old Row) error {
	for old.Token != r.meta.Token {
		next := old
		next.Version++ // or a holder could take the fence for its own renewal
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
			return ErrRowMissing
		}
		old = found
	}
	return nil
}

// createRow creates a row for a worker ID without one. If the row exists by now, its fence is
// raised already.
func (r *recovery) createRow(number int64) error {
	row := Row{WorkerID: number, Version: 1, Fence: r.meta.Fence, Token: r.meta.Token, Identity: r.identity}
	_, err := r.store.Swap(r.ctx, Row{}, row, 0)
	return err
}

// above returns the fence that lies lead above fence or above the present, whichever is higher, but
// not beyond the layout.
func (r *recovery) above(fence int64) int64 {
	from, most := max(fence, r.now), max(fence, r.max)
	return from + min(r.lead, most-from)
}
