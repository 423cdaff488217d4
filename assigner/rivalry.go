package assigner

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner/leasestore"
)

// yieldAfter is the number of losses after which a Fenced assigner leaves its row to the other
// process of the same owner, until the row is free or has expired. A restart causes one loss. Two
// live processes take the row from each other in turns, and each takeover wastes a window of
// deltas.
const yieldAfter = 2

// taken returns an error for a row that is held and must not be taken, or nil.
func (c *claim) taken(row leasestore.Row) error {
	switch {
	case row.Token == "" || !row.Expires.After(c.status.Now):
		c.losses.Store(0)
		return nil
	case row.Owner != c.cfg.Owner:
		return fmt.Errorf("%w: row %d is held by %q (%s) until %s by the store's clock, here %q; give each a worker ID of its own",
			ErrWorkerInUse, row.WorkerID, row.Owner, row.Holder, stamp(row.Expires), c.cfg.Owner)
	case c.losses.Load() >= yieldAfter:
		return fmt.Errorf("%w: row %d is held by %s, a second process with owner %q: it has taken the row from this process %d times; "+
			"stop one of the two, or give each a worker ID and an owner of its own", ErrWorkerInUse, row.WorkerID, row.Holder, row.Owner,
			yieldAfter)
	case c.status.Lossy:
		return quarantined(row.WorkerID, row.Expires.Sub(c.status.Now), "the store may have forgotten a takeover by another process of the same owner")
	}
	return nil
}

// fencedHere has the leases of Fenced assigners that generators of this process hold, by fencedKey,
// and a nil *lease during a claim. Without it, a second generator of the same owner would take the
// row from the first in turns.
var fencedHere sync.Map

type fencedKey struct {
	namespace string // Meta.Namespace
	workerID  int64
	owner     string
}

// reserve returns an error when a generator of this process holds or claims the row for the same
// owner. The caller of reserve calls end when the claim has ended.
func (c *claim) reserve(workerID int64) (end func(), err error) {
	if !c.domain.Registered {
		return func() {}, nil
	}
	key := fencedKey{c.meta.Namespace, workerID, c.cfg.Owner}
	if _, taken := fencedHere.LoadOrStore(key, (*lease)(nil)); taken {
		return nil, fmt.Errorf("%w: a generator of this process holds row %d for owner %q; share it, or close it first", ErrWorkerInUse, workerID, c.cfg.Owner)
	}
	return func() { fencedHere.CompareAndDelete(key, (*lease)(nil)) }, nil
}

// enter records a lease in fencedHere until Abandon.
func (c *claim) enter(l *lease) {
	if l != nil && c.source != nil && c.domain.Registered {
		fencedHere.Store(l.key(), l)
	}
}

// Abandon frees the entry of the lease, see [Lease].
func (l *lease) Abandon() { fencedHere.CompareAndDelete(l.key(), l) }

func (l *lease) key() fencedKey { return fencedKey{l.namespace, l.row.WorkerID, l.cfg.Owner} }
