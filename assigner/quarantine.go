package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
)

// quarantined returns the error for a worker ID that must not be used yet. The assigner keeps it
// for a caller that calls Assign again after that time.
func quarantined(workerID int64, remaining time.Duration, reason string) error {
	return generator.Passing{Err: fmt.Errorf("%w: worker %d for %v more: %s", ErrQuarantined, workerID, remaining, reason), After: remaining}
}

// recognise stores a bound when the store may lack commits: it is another server, or another copy
// of its data, than at the last claim, or a lease of this assigner has found its row missing or set
// back, and no recovery covers that. All deltas that the store has granted and forgotten lie below
// the bound, since the cap on fences counts from the present, except for a holder that ran further
// ahead of the clock than MaxLead. Later claims of worker IDs that may have been forgotten begin
// above the bound, see found. The earlier servers must not grant any more.
//
// The first claim or renewal on the server stores the bound, so that neither later claims nor
// restarts extend the quarantine. A second failover that loses the bound makes a higher one. On a
// store without an identity a bound would lie a day ahead, see MaxLead.
func (c *claim) recognise() error {
	for c.view.status.Identity != "" && !c.view.status.Lossy && !c.meta.Recovering() {
		moved, setBack := c.meta.Identity != c.view.status.Identity, c.leaser.setBack.Load()
		if !moved && c.meta.Fence >= setBack {
			return nil
		}
		before, next := c.meta.Identity, c.meta
		next.Identity = c.view.status.Identity
		next.Quarantine = max(next.Quarantine+1, c.view.forgotten(max(c.meta.Fence, setBack-1))) // another one after each change, see term
		stored, err := c.swapMeta(next)
		if err != nil {
			return err
		}
		if !stored {
			continue
		}
		c.leaser.setBack.CompareAndSwap(setBack, 0)
		text, remedy := "assigner: the store is another server or another copy of its file, and may have lost commits", "none is needed after a failover, unless"
		if !moved {
			text, remedy = "assigner: the store has lost commits, and no recovery covers them", "run Recover if a process has started since the loss, or if"
		}
		c.warn(text, "store", c.view.status.Store, "namespace", c.view.status.Namespace,
			"now", c.meta.Identity, "before", before, "starts_wait_until", stamp(c.terms.alloc.Time(c.meta.Quarantine-c.view.fences.lead)),
			"remedy", fmt.Sprintf("%s a generator was over %v (MaxLead) ahead of the clock; never use two copies of a store", remedy, c.terms.span(c.view.fences.lead)))
	}
	return nil
}

// term returns Row.Identity for a claim or a renewal now: the server, and which change of servers
// was the last. A server may become the primary again, without the claims of its successor.
func term(m leasestore.Meta) string {
	if m.Quarantine == 0 {
		return m.Identity
	}
	return fmt.Sprintf("%s above %d", m.Identity, m.Quarantine)
}

// recognise returns the term and the bound for a renewal on another server than the last one. Each
// row with the term of a server is written after the bound, so a failover that loses the bound
// loses the row's change, too.
func (l *lease) recognise(ctx context.Context, v view) (ofServer string, bound int64, err error) {
	c := &claim{leaser: l.leaser, terms: l.terms, ctx: ctx, view: v}
	if c.meta, err = l.leaser.store.LoadMeta(ctx); err != nil && !errors.Is(err, leasestore.ErrOverlap) {
		return "", 0, fmt.Errorf("assigner: read the meta row: %w", err)
	}
	if c.meta.Version == 0 { // the row is gone, too
		return "", 0, nil //mutate:number the row has no term, either
	}
	err = c.recognise()
	return term(c.meta), c.meta.Quarantine, err
}

// seen returns the server that was seen last: a user may lack the right to see it for a while.
func (l *lease) seen(v view) string { return cmp.Or(v.status.Identity, l.server) }

// moved reports whether the store is another server than the one seen before.
func (l *lease) moved(v view) bool { return l.server != "" && l.seen(v) != l.server }

// rewound reports whether a row is as it was before the last claim or renewal of this lease. If
// its term is of an earlier server, the next holder begins above the bound of the present one.
func (l *lease) rewound(found leasestore.Row) bool {
	return found.Version < l.row.Version ||
		//mutate:operator a swap from an equal row succeeds
		found.Token == l.row.Token && found.Fence < l.row.Fence
}

// suspect returns err, of check. If it shows that the store went back, and no bound covers this
// lease, the next claim stores one.
func (l *lease) suspect(err error, bound int64) error {
	//mutate:operator on equality another bound does no harm
	if bound < l.row.Fence && (errors.Is(err, leasestore.ErrRowMissing) || errors.Is(err, leasestore.ErrFenceRegressed)) {
		l.leaser.setBack.Store(l.fence + 1)
	}
	return err
}

// found returns the fence above which a claim of a row begins. Of a new worker ID it is the zero
// row.
func (c *claim) found(row leasestore.Row) int64 {
	fence := max(row.Fence, c.meta.Fence)
	if row.Identity != term(c.meta) { // as of a new row, unless there is no quarantine
		return max(fence, c.meta.Quarantine)
	}
	return fence
}

// A quarantine holds back a lease of a lossy store, which was claimed without a grant: the store
// may have forgotten the last holder. It ends when its time has passed by the store's clock and by
// both clocks of this host. Then all deltas that an earlier holder may have been granted lie in the
// past.
type quarantine struct {
	began  instant
	lasts  time.Duration
	status leasestore.Status // at its beginning
}

// remaining returns 0 or less when the quarantine is over.
func (q *quarantine) remaining(status leasestore.Status, now instant) time.Duration {
	return q.lasts - min(status.Now.Sub(q.status.Now), now.mono.Sub(q.began.mono), now.wall.Sub(q.began.wall))
}

func (l *lease) remains(status leasestore.Status) error {
	return quarantined(l.row.WorkerID, l.quarantine.remaining(status, l.leaser.clock()), "the store may have forgotten the last holder")
}

// keep stores a lease in quarantine for a later call of Assign, ordered by the beginning of the
// quarantine, and returns err. The caller does not use the lease any more: another call may have
// it.
func (c *claim) keep(l *lease, err error) error {
	c.leaser.mu.Lock()
	defer c.leaser.mu.Unlock()
	c.leaser.waiting = append(c.leaser.waiting, l)
	slices.SortStableFunc(c.leaser.waiting, func(a, b *lease) int { return a.quarantine.began.mono.Compare(b.quarantine.began.mono) })
	return err
}

// pick removes and returns the first kept lease, of Fenced the first one of the reserved worker ID,
// or nil. All kept leases have the domain of the claim: loadMeta has compared it with the domain of
// the namespace.
func (c *claim) pick() *lease {
	c.leaser.mu.Lock()
	defer c.leaser.mu.Unlock()
	i := slices.IndexFunc(c.leaser.waiting, func(l *lease) bool { return c.leaser.source == nil || l.row.WorkerID == c.seat.workerID })
	if i < 0 {
		return nil
	}
	l := c.leaser.waiting[i]
	c.leaser.waiting = slices.Delete(c.leaser.waiting, i, i+1)
	l.terms, l.seat = c.terms, c.seat
	return l
}

// resume returns a kept lease if its quarantine is over, or an error with the remaining time. If no
// lease is kept, it takes a row.
func (c *claim) resume() (*lease, error) {
	for l := c.pick(); l != nil; l = c.pick() {
		if l.quarantine.remaining(c.view.status, c.leaser.clock()) > 0 { //mutate:number a nanosecond more
			return nil, c.keep(l, l.remains(c.view.status))
		}
		from := max(l.grant.First, c.view.now) //mutate:argument the renewal, or the next one, reaches the clock
		switch _, err := l.Renew(c.ctx, Use{Used: from, Want: from}); {
		case err == nil:
			if err := c.loadMeta(); err != nil {
				return nil, c.keep(l, err)
			}
			l.grant.First = max(l.grant.First, c.meta.Horizon+1) // the row may have gone uncounted, see leasestore.Horizon
			l.quarantine = nil
			return l, nil
		case !errors.Is(err, ErrWorkerRowLost):
			return nil, c.keep(l, err)
		}
		// It has expired meanwhile, and another process has the row.
	}
	return c.compete()
}
