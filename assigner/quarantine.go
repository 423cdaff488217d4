package assigner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// passing is a temporary error of Assign, such as when all worker IDs are held. Generators look for
// its method RetryAfter.
type passing struct {
	error
	after time.Duration
}

func (e passing) Unwrap() error { return e.error }

// RetryAfter returns the time after which Assign may succeed.
func (e passing) RetryAfter() time.Duration { return e.after }

// inQuarantine is a type of its own, since generators log an error that passes when its type
// changes.
type inQuarantine struct{ passing }

// quarantined returns the error for a worker ID that must not be used yet. The assigner keeps it
// for a caller that calls Assign again after that time.
func quarantined(workerID int64, remaining time.Duration, reason string) error {
	return inQuarantine{passing{fmt.Errorf("%w: worker %d for %v more: %s", ErrQuarantined, workerID, remaining, reason), remaining}}
}

// suspicion returns the reason why a store may have forgotten the last holder of a row, or "".
func (c *claim) suspicion(row leasestore.Row) string {
	known := row.Identity
	if row.Version == 0 {
		known = c.meta.Identity
	}
	switch {
	case c.status.Lossy:
		return "the store may have forgotten the last holder"
	case c.status.Identity != "" && c.status.Identity != known:
		return fmt.Sprintf("the store is another server or another copy of its file, now %q and before %q, and may have lost commits", c.status.Identity, known)
	}
	return ""
}

// A quarantine holds back a lease that was claimed without a grant. It ends when its time has
// passed by the store's clock and by both clocks of this host. Then all deltas that an earlier
// holder may have been granted lie in the past. On a store that is not lossy this does not cover a
// holder that ran further ahead of the clock than MaxLead.
type quarantine struct {
	began  instant
	lasts  time.Duration
	status leasestore.Status // at its beginning
	reason string
}

// remaining returns 0 or less when the quarantine is over.
func (q *quarantine) remaining(status leasestore.Status, now instant) time.Duration {
	return q.lasts - min(status.Now.Sub(q.status.Now), now.shortest(q.began))
}

func (l *lease) remains(status leasestore.Status) error {
	return quarantined(l.row.WorkerID, l.quarantine.remaining(status, l.clock()), l.quarantine.reason)
}

// keep stores a lease in quarantine for a later call of Assign, ordered by the beginning of the
// quarantine, and returns err. The caller does not use the lease any more: another call may have
// it.
func (c *claim) keep(l *lease, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, l)
	slices.SortStableFunc(c.waiting, func(a, b *lease) int { return a.quarantine.began.mono.Compare(b.quarantine.began.mono) })
	return err
}

// pick removes and returns the first kept lease, of Fenced the first one of the reserved worker ID,
// or nil. All kept leases have the domain of the claim: loadMeta has compared it with the domain of
// the namespace.
func (c *claim) pick() *lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waiting, func(l *lease) bool { return c.source == nil || l.row.WorkerID == c.here.workerID })
	if i < 0 {
		return nil
	}
	l := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	l.terms = c.terms
	return l
}

// resume returns a kept lease if its quarantine is over, or an error with the remaining time.
// Without a kept lease it returns neither.
func (c *claim) resume() (*lease, error) {
	for l := c.pick(); l != nil; l = c.pick() {
		if l.quarantine.remaining(c.status, c.clock()) > 0 {
			return nil, c.keep(l, l.remains(c.status))
		}
		from := max(l.first, c.now)
		switch err := l.renew(c.ctx, Use{Used: from, Want: from}); {
		case err == nil:
			if err := c.loadMeta(); err != nil {
				return nil, c.keep(l, err)
			}
			c.clearQuarantine(l)
			l.first = max(l.first, c.meta.Horizon+1) // the row may have gone uncounted, see leasestore.Horizon
			l.quarantine = nil
			return l, nil
		case !errors.Is(err, ErrWorkerRowLost):
			return nil, c.keep(l, err)
		}
		// It has expired meanwhile, and another process has the row.
	}
	return nil, nil
}

// clearQuarantine raises the namespace's fence above everything that the old server may have
// granted, so that new worker IDs need no quarantine. If that fails, the next lease that leaves
// quarantine tries again.
func (c *claim) clearQuarantine(l *lease) {
	if c.meta.Identity == c.status.Identity || l.quarantine.status.Identity != c.status.Identity {
		return
	}
	next := c.meta
	next.Fence = max(next.Fence, l.first-1)
	next.Identity = c.status.Identity
	_, _ = c.swapMeta(next)
}
