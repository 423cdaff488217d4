package assigner

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// yieldAfter is the number of losses after which a Fenced assigner leaves its row to the other
// process of the same owner, until the row is free or has expired. A restart causes one loss. Two
// live processes take the row from each other in turns, and each takeover wastes a window of
// deltas.
const yieldAfter = 2

// taken returns an error for a row that is held and must not be taken, or nil.
func (c *claim) taken(row leasestore.Row) error {
	switch {
	case row.Token == "" || !row.Expires.After(c.view.status.Now):
		c.leaser.losses.Store(0)
		return nil
	case row.Owner != c.terms.cfg.Owner:
		return fmt.Errorf("%w: row %d is held by %q (%s) until %s by the store's clock, here %q; give each a worker ID of its own",
			ErrWorkerInUse, row.WorkerID, row.Owner, row.Holder, stamp(row.Expires), c.terms.cfg.Owner)
	case c.leaser.losses.Load() >= yieldAfter:
		return fmt.Errorf("%w: row %d is held by %s, a second process with owner %q: it has taken the row from this process %d times; "+
			"stop one of the two, or give each a worker ID and an owner of its own", ErrWorkerInUse, row.WorkerID, row.Holder, row.Owner,
			yieldAfter)
	case c.view.status.Lossy:
		return quarantined(row.WorkerID, row.Expires.Sub(c.view.status.Now), "the store may have forgotten a takeover by another process of the same owner")
	}
	return nil
}

// fencedHere has the seats of the Fenced assigners that claim or hold a worker ID for a generator
// of this process. Without it, a second generator of the same owner would take the row from the
// first in turns.
var fencedHere sync.Map

// A seat is the worker ID that a Fenced assigner has reserved for a claim and its lease. The seat
// of another assigner is empty.
type seat struct {
	namespace string // Meta.Namespace
	workerID  int64
	owner     string
}

// leave frees the seat.
func (s *seat) leave() { fencedHere.CompareAndDelete(*s, s) }

// reserve asks the source of Fenced for the worker ID, and takes a seat in fencedHere. It
// returns an error when a generator of this process has it for the same owner.
func (c *claim) reserve() error {
	storecall.Pause(c.ctx) // the source may need the only connection of a pool
	l, err := c.leaser.source.Assign(c.ctx, c.terms.domain)
	if err != nil {
		return err
	}
	if l == nil {
		return fmt.Errorf("%w: the source of Fenced returned neither a lease nor an error", ErrWorkerUnknown)
	}
	g, first, last := l.Grant(), c.terms.cfg.FirstWorkerID, c.terms.domain.MaxWorkerID()
	switch {
	case g.Guarantee != GuaranteeDerived:
		_ = l.End(c.ctx, Ending{Released: true}) // its error may pass, and this one stays
		return fmt.Errorf("assigner: Fenced: source grants a worker ID that is %v, allowed: %v; use that assigner by itself", g.Guarantee, GuaranteeDerived)
	case g.WorkerID < first || g.WorkerID > last:
		return fmt.Errorf("%w: %d from the source of Fenced, allowed with FirstWorkerID %d: %d to %d", ErrWorkerOutOfRange, g.WorkerID, first, first, last)
	}
	*c.seat = seat{c.meta.Namespace, g.WorkerID, c.terms.cfg.Owner}
	if c.terms.domain.Registered {
		if _, taken := fencedHere.LoadOrStore(*c.seat, c.seat); taken {
			return fmt.Errorf("%w: a generator of this process holds row %d for owner %q; share it, or close it first", ErrWorkerInUse, g.WorkerID, c.terms.cfg.Owner)
		}
	}
	return nil
}
