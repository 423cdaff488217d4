package leasestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// recoveringFormat is the start of the token of a meta row while a recovery is under way, with the
// lead of the recovery in units.
const (
	recoveringPrefix = "recovering-"
	recoveringFormat = recoveringPrefix + "%d-"
)

// Recovering reports whether [Recover] has started and not finished. Claims are rejected meanwhile.
func (m Meta) Recovering() bool { return strings.HasPrefix(m.Token, recoveringPrefix) }

// A Recovery configures [Recover].
type Recovery struct {
	// Lead is how far Recover raises the fences, at least 0, and less than the time until the
	// layout ends. It is more than any generator had run ahead of the clock, its window included,
	// and more than any clock was ahead.
	Lead time.Duration
}

// Recover makes the namespace of a store safe again after the store went back to an earlier state,
// by a restore from a backup or by a failover that lost commits. It raises every fence to r.Lead
// above its value or above the present time, whichever is later, and takes every row from its
// holder. Worker IDs whose rows were lost start above the same fence.
//
// Recover is safe under three conditions. The lead is as large as [Recovery] asks for. No claim, no
// renewal and no release reaches the store between its return to the earlier state and the end of
// Recover: a holder that has lost its row may find it again in the earlier state, and a release
// lowers its fence. The clock of the store is right.
//
// Running generators notice that their rows have changed, and take other worker IDs; the IDs they
// have prepared stay valid. New IDs then lie up to the lead ahead of the clock. Recover returns an
// error for a lossy store, which needs no recovery.
//
// A worker ID whose row was deleted gets a row again.
//
// After an error, call Recover again: it goes on where it stopped, with the lead of the first call,
// and adds it only once. With a larger lead it begins anew. Assign on the namespace returns an
// error until Recover has returned nil.
func Recover(ctx context.Context, store Store, r Recovery) (err error) {
	defer named("Recover", &err)
	if r.Lead < 0 {
		return fmt.Errorf("field Lead %v, allowed: 0 or more", r.Lead)
	}
	o, err := begin(ctx, store)
	if err != nil {
		return err
	}
	unit := o.meta.Layout.Unit
	o.lead = int64(r.Lead/unit) + min(int64(r.Lead%unit), 1)
	if o.lead >= o.alloc.MaxDelta()-o.alloc.Delta(o.status.Now) {
		return fmt.Errorf("field Lead %v, allowed: less; the layout ends at %s, and no worker ID would have a delta left", r.Lead, o.alloc.Expires().UTC().Format(time.RFC3339))
	}
	if err := o.raiseMeta(); err != nil {
		return err
	}
	if err := o.raiseRows(); err != nil {
		return err
	}
	// Allow claims again. Another call may have ended the recovery.
	if _, err := o.swapMeta(o.meta, ""); err != nil || !o.meta.Recovering() {
		return err
	}
	return errors.New("another recovery has begun meanwhile; call Recover again")
}

// raiseMeta runs first: rows that are created later start above the fence of the namespace. Its
// token records the lead by which the fence was raised, and marks the rows that are done.
func (o *operation) raiseMeta() error {
	for {
		//mutate:number no lead is negative
		begun := int64(-1) // the lead of the recovery that is under way
		_, _ = fmt.Sscanf(o.meta.Token, recoveringFormat, &begun)
		if o.lead <= begun && o.meta.Identity == o.status.Identity {
			o.lead = begun
			return nil
		}
		next := o.meta
		next.Fence, next.Identity = o.above(max(next.Fence, next.Quarantine)), o.status.Identity
		if ok, err := o.swapMeta(next, fmt.Sprintf(recoveringFormat, o.lead)); ok || err != nil {
			return err
		}
	}
}

// raiseRows raises the fences of all rows, and creates the rows that are missing. It stores the
// recovery's token in each row, which expires at once and counts as free.
func (o *operation) raiseRows() error {
	found, err := o.store.List(o.ctx)
	if err != nil {
		return fmt.Errorf("list the rows: %w", err)
	}
	rows := make(map[int64]Row)
	for number := o.meta.FirstWorkerID; number < o.meta.NextWorkerID; number++ {
		rows[number] = Row{}
	}
	for _, row := range found {
		rows[row.WorkerID] = row
	}
	for _, number := range slices.Sorted(maps.Keys(rows)) {
		for row := rows[number]; row.Token != o.meta.Token; {
			next := row
			next.WorkerID = number
			next.Version++ // or a holder could take the fence for its own renewal
			next.Fence = max(o.above(row.Fence), o.meta.Fence)
			if !row.Free() { // the holder uses up its grant
				next.Former = max(row.Former, row.Fence)
			}
			next.Token, next.Identity = o.meta.Token, o.status.Identity
			if row, err = swapRow(o.ctx, o.store, row, next, 0); err != nil {
				return fmt.Errorf("stopped at row %d, where the next call goes on: %w", number, err)
			}
		}
	}
	return nil
}

// above returns the fence that lies lead above fence or above the present, whichever is higher, but
// not beyond the layout.
func (o *operation) above(fence int64) int64 {
	from, most := max(fence, o.alloc.Delta(o.status.Now)), max(fence, o.alloc.MaxDelta())
	return from + min(o.lead, most-from)
}
