package assigner

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A rivalry counts how often a Fenced assigner has lost its row to another process of the same
// owner. A restart causes one loss. Two live processes take the row from each other in turns, and
// each takeover wastes a window of deltas.
type rivalry struct {
	losses int
	last   instant
}

// yieldAfter is the number of successive losses after which an assigner yields.
const yieldAfter = 2

// rivalWindows is the number of windows within which two losses are successive. A process notices a
// loss when it renews, up to a window after the takeover, and may have renewed a window before it.
const rivalWindows = 4

// lostTo counts a loss of the row to another process of the same owner.
func (a *leaser) lostTo(found leasestore.Row) {
	if found.Owner != a.cfg.Owner {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if now.longest(a.rival.last) > rivalWindows*a.cfg.Window {
		a.rival.losses = 0
	}
	a.rival.losses++
	a.rival.last = now
}

// yields reports whether this assigner leaves the row to the other process until the row is free or
// has expired.
func (a *leaser) yields() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rival.losses >= yieldAfter
}

// settled resets the count when the row is free or has expired.
func (a *leaser) settled() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rival.losses = 0
}

// taken returns an error for a row that is held and must not be taken, or nil.
func (c *claim) taken(row leasestore.Row) error {
	switch {
	case row.Token == "" || !row.Expires.After(c.status.Now):
		c.settled()
		return nil
	case row.Owner != c.cfg.Owner:
		return fmt.Errorf("%w: row %d is held by %q (%s) until %s by the store's clock, here %q; give each a worker ID of its own",
			ErrWorkerInUse, row.WorkerID, row.Owner, row.Holder, stamp(row.Expires), c.cfg.Owner)
	case c.yields():
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
	if l != nil && c.atOnce && c.domain.Registered {
		fencedHere.Store(l.key(), l)
	}
}

// Abandon frees the entry of the lease, see [Lease].
func (l *lease) Abandon() { fencedHere.CompareAndDelete(l.key(), l) }

func (l *lease) key() fencedKey { return fencedKey{l.namespace, l.row.WorkerID, l.cfg.Owner} }
