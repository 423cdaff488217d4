package assigner

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A QuarantineError says how long a worker ID must not be used yet. It wraps [ErrQuarantined]. The assigner that returned
// it keeps the worker ID for a caller that comes back when the time has passed.
type QuarantineError struct {
	WorkerID  int64
	Remaining time.Duration
	Reason    string
}

// RetryAfter returns Remaining: generators call Assign again when that has passed.
func (e *QuarantineError) RetryAfter() time.Duration { return e.Remaining }

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%v: worker %d for %v more: %s", ErrQuarantined, e.WorkerID, e.Remaining, e.Reason)
}

// Unwrap returns ErrQuarantined.
func (e *QuarantineError) Unwrap() error { return ErrQuarantined }

// suspicion says why a store may have forgotten who used a row last, or returns "".
func (c *claim) suspicion(row Row) string {
	known := row.Identity
	if row.Version == 0 {
		known = c.meta.Identity
	}
	switch {
	case c.status.Lossy:
		return "the store may have forgotten who used it last"
	case c.status.Identity != "" && c.status.Identity != known:
		return fmt.Sprintf("the server is now %q and was %q, and may have lost commits", c.status.Identity, known)
	}
	return ""
}

// A quarantine holds back a lease that was claimed without a grant. When it ends, the deltas are past that an earlier
// holder may have been granted, unless that one was ahead of the clock on a store that does not call itself lossy.
type quarantine struct {
	until          time.Time // by the store's clock
	server, reason string
}

// isolation is how long a quarantine lasts: as far as a grant of a generator that keeps to the clock reaches ahead of it, and
// clocks may differ.
func (t *terms) isolation(status Status) time.Duration {
	if status.Lossy {
		return t.window() + t.cfg.MaxSkew
	}
	return 2*t.window() + time.Duration(t.domain.Prepared+1)*t.domain.Layout.Unit + t.cfg.MaxSkew
}

func (l *lease) remains(status Status) error {
	return &QuarantineError{WorkerID: l.row.WorkerID, Remaining: l.quarantine.until.Sub(status.Now), Reason: l.quarantine.reason}
}

// keep holds a lease in quarantine for the next caller. Those that end first come first.
func (c *claim) keep(l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, l)
	slices.SortStableFunc(c.waiting, func(a, b *lease) int { return a.quarantine.until.Compare(b.quarantine.until) })
}

// pick takes over a lease that was kept, or returns nil.
func (c *claim) pick() *lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waiting, func(l *lease) bool {
		return l.domain.Layout == c.domain.Layout && l.domain.Epoch.Equal(c.domain.Epoch) && l.domain.DatacenterID == c.domain.DatacenterID
	})
	if i < 0 {
		return nil
	}
	l := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	l.terms = c.terms
	return l
}

// resume goes on with a lease in quarantine. It returns neither a lease nor an error when there is none.
func (c *claim) resume() (*lease, error) {
	for l := c.pick(); l != nil; l = c.pick() {
		if c.status.Now.Before(l.quarantine.until) {
			c.keep(l)
			return nil, l.remains(c.status)
		}
		from := max(l.first, c.now)
		switch err := l.Renew(c.ctx, from, from+c.domain.Prepared); {
		case err == nil:
			c.trust(l.quarantine)
			l.quarantine = nil
			return l, nil
		case !errors.Is(err, ErrWorkerRowLost):
			c.keep(l)
			return nil, err
		}
		// It has expired meanwhile, and somebody else has the row.
	}
	return nil, nil
}

// trust has new numbers begin above what may have been forgotten, so that they need no quarantine any more. Where that
// fails the next lease that comes out of quarantine does it.
func (c *claim) trust(q *quarantine) {
	if c.meta.Identity == c.status.Identity || q.server != c.status.Identity {
		return
	}
	next := c.meta
	next.Fence = max(next.Fence, c.alloc.Delta(q.until))
	next.Identity = c.status.Identity
	_, _ = c.swapMeta(next)
}
