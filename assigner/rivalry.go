package assigner

import (
	"fmt"
	"sync"
)

// A rivalry counts how often a Fenced assigner has lost its row to another process of the same
// owner. A restart is one loss. Two processes that live take the row from each other again and
// again, and each takeover burns a window of ID time.
type rivalry struct {
	losses int
	last   instant
}

// yieldAfter is how many losses in a row make an assigner yield.
const yieldAfter = 2

// lostTo notes that another process has taken the row.
func (a *leaser) lostTo(found Row) {
	if !a.atOnce || found.Owner != a.cfg.Owner {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if a.rival.losses > 0 && now.longest(a.rival.last) > rivalWindows*a.cfg.Window {
		a.rival.losses = 0
	}
	a.rival.losses++
	a.rival.last = now
}

// rivalWindows is within how many windows losses count as in a row: a process notices one when it
// renews, up to a window after the takeover, and has renewed last a window before.
const rivalWindows = 4

// yields reports whether this assigner leaves the row to its rival until the row is free or has
// expired.
func (a *leaser) yields() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rival.losses >= yieldAfter
}

// settled forgets the rival when it has gone.
func (a *leaser) settled() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rival.losses = 0
}

// taken returns an error for a row that is held and must not be taken, or nil.
func (c *claim) taken(row Row) error {
	switch {
	case row.Token == "" || !row.Expires.After(c.status.Now):
		c.settled()
		return nil
	case row.Owner != c.cfg.Owner:
		return fmt.Errorf("%w: row %d is held by %q (%s) until %s by the store's clock, here %q; give each a number of its own",
			ErrWorkerInUse, row.WorkerID, row.Owner, row.Holder, stamp(row.Expires), c.cfg.Owner)
	case c.yields():
		return fmt.Errorf("%w: row %d is held by %s, a second process with owner %q: it has taken the row from this process %d times; "+
			"stop one of the two, or give each a number and an owner of its own", ErrWorkerInUse, row.WorkerID, row.Holder, row.Owner,
			yieldAfter)
	case c.status.Lossy:
		return &QuarantineError{row.WorkerID, row.Expires.Sub(c.status.Now), "the store may forget that it was taken from a process of the same owner"}
	}
	return nil
}

// fencedHere are the leases of Fenced assigners that generators of this process hold. A second
// generator of one owner would take the row from the first, again and again.
var fencedHere = struct {
	sync.Mutex
	leases map[fencedKey]*lease
}{leases: make(map[fencedKey]*lease)}

type fencedKey struct {
	namespace string // Meta.Namespace
	workerID  int64
	owner     string
}

func (l *lease) key() fencedKey { return fencedKey{l.namespace, l.row.WorkerID, l.cfg.Owner} }

// heldHere returns an error when a generator of this process holds the row for the same owner.
func (c *claim) heldHere(workerID int64) error {
	fencedHere.Lock()
	defer fencedHere.Unlock()
	if !c.domain.Registered || fencedHere.leases[fencedKey{c.meta.Namespace, workerID, c.cfg.Owner}] == nil {
		return nil
	}
	return fmt.Errorf("%w: a generator of this process holds row %d for owner %q; share it, or close it first", ErrWorkerInUse, workerID, c.cfg.Owner)
}

// enter notes that a generator of this process holds a lease, until Abandon.
func (c *claim) enter(l *lease) {
	if l != nil && c.atOnce && c.domain.Registered {
		fencedHere.Lock()
		defer fencedHere.Unlock()
		fencedHere.leases[l.key()] = l
	}
}

// Abandon implements [Abandoner].
func (l *lease) Abandon() {
	fencedHere.Lock()
	defer fencedHere.Unlock()
	if fencedHere.leases[l.key()] == l {
		delete(fencedHere.leases, l.key())
	}
}
