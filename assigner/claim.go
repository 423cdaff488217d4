package assigner

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// A claim is one call of Assign.
type claim struct {
	bounds // at the start of the claim
	ctx    context.Context
	began  instant
	meta   leasestore.Meta

	listed []leasestore.Row // expired, when last read
	raced  int              // rows lost to other processes
	stuck  int              // new worker IDs lost
}

// run takes a lease. It prefers a kept lease whose quarantine is over.
func (c *claim) run() (l *lease, err error) {
	c.began = c.clock()
	if c.bounds, err = c.look(c.ctx); err != nil {
		return nil, err
	}
	if err := c.loadMeta(); err != nil {
		return nil, err
	}
	if len(c.status.Faults) > 0 {
		c.warned.Do(func() { // not at each try, of which there may be one a second
			c.cfg.Logger.Warn("assigner: the store may forget acknowledged changes", "faults", c.status.Faults,
				"remedy", "correct these settings, and then remove AllowUndurable")
		})
	}
	if c.source != nil {
		if err := c.reserve(); err != nil {
			return nil, err
		}
	}
	if err := c.recognise(); err != nil {
		return nil, err
	}
	if l, err := c.resume(); l != nil || err != nil {
		return l, err
	}
	return c.compete()
}

// compete tries rows as long as other processes are faster, and waits with backoff unless the
// counter of worker IDs has moved.
func (c *claim) compete() (*lease, error) {
	for try := 0; c.ctx.Err() == nil; try++ {
		candidates, next := c.free, c.meta.NextWorkerID
		if c.source != nil {
			candidates = c.fixed
		}
		rows, err := candidates()
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if l, err := c.take(row); l != nil || err != nil {
				return l, err
			}
		}
		if c.meta.NextWorkerID == next {
			storecall.Pause(c.ctx)
			c.pause(c.ctx, try)
		}
		next = c.meta.NextWorkerID
		if err := c.loadMeta(); err != nil {
			return nil, err
		}
		if c.meta.NextWorkerID != next {
			c.stuck = 0 // the creators of new rows count them
		}
	}
	return nil, fmt.Errorf("assigner: no worker ID in time, %d rows lost to processes that start now: %w", c.raced, c.ctx.Err())
}

// usedUp reports whether all worker IDs of the layout have been given out.
func (c *claim) usedUp() bool { return c.meta.NextWorkerID > c.domain.MaxWorkerID() }

// none returns the error for a claim that found no worker ID. nearest is the lowest fence of the
// free ones, all of them too far ahead of the clock, or the largest int64 when none is free.
func (c *claim) none(nearest int64) error {
	if nearest < math.MaxInt64 {
		after := c.alloc.Time(nearest).Sub(c.alloc.Time(c.limits.farthest(c.now))) // saturates, unlike a product
		if nearest <= c.meta.Quarantine {
			return inQuarantine{passing{fmt.Errorf("%w: for %v more: the store is another server or another copy of its file, now %q, and may have lost commits",
				ErrQuarantined, after, c.meta.Identity), after}}
		}
		return passing{fmt.Errorf("%w: the fences of all free worker IDs are more than %v ahead; wait for the clock, or raise MaxLead in the whole "+
			"namespace; if generators run ahead all the time, choose a layout with more sequence bits", ErrWorkerAheadOfClock, time.Duration(c.limits.lead)*c.domain.Layout.Unit), after}
	}
	return passing{fmt.Errorf("%w: all %d have been given out, and none is free; wait until one is released, or use another namespace "+
		"with another DatacenterID; IDs of a layout with more worker bits need new tables, since they can be equal to the old ones", ErrWorkersExhausted,
		c.domain.MaxWorkerID()-c.cfg.FirstWorkerID+1), time.Second}
}

const (
	// listed is the number of expired rows that a claim reads at first, enough for processes that
	// start at once to try different rows.
	listed = 256
	// attempts is the number of rows that it tries in a round: if all of them are lost, there are
	// more processes than rows.
	attempts = 8
)

// farthest returns the highest fence of a row that this claim may take.
func (c *claim) farthest() int64 { return c.limits.farthest(c.from(c.meta.Fence)) }

// free returns the rows to try, the best first: rows that the generator can use at once, the next
// worker ID that was never given out, and rows that it has to wait for. It returns an error if
// there are none. While there are new worker IDs, Auto takes only spares, of the first rows. Other
// claims read more rows when all rows that they have read are unusable.
func (c *claim) free() ([]leasestore.Row, error) {
	for n := listed; ; n *= 8 {
		rows, err := c.store.Expired(c.ctx, n)
		if err != nil {
			return nil, fmt.Errorf("assigner: list the expired rows: %w", err)
		}
		c.listed = rows
		usable, nearest := c.usable(rows)
		if len(usable) == 0 && len(rows) == n && (c.usedUp() || !c.newFirst) {
			continue
		}
		if fence := c.found(leasestore.Row{}); !c.usedUp() && fence > c.farthest() {
			nearest = min(nearest, fence)
		} else if !c.usedUp() {
			usable = append(usable, leasestore.Row{WorkerID: c.meta.NextWorkerID})
		}
		if len(usable) == 0 {
			return nil, c.none(nearest)
		}
		// In each rank use a random order, so that processes that start at once try different rows.
		c.shuffle(len(usable), func(i, j int) { usable[i], usable[j] = usable[j], usable[i] })
		slices.SortStableFunc(usable, func(a, b leasestore.Row) int { return cmp.Compare(c.rank(a), c.rank(b)) })
		return usable[:min(attempts, len(usable))], nil
	}
}

// usable returns the rows that may be taken, and the lowest fence of the rows whose fence is too
// far ahead. It leaves out rows that are not counted yet, since the worker ID of such a row would
// be given out again if the row were deleted.
func (c *claim) usable(rows []leasestore.Row) (usable []leasestore.Row, nearest int64) {
	nearest = math.MaxInt64
	for _, row := range rows {
		switch {
		case row.Expires.After(c.status.Now), row.WorkerID > min(c.domain.MaxWorkerID(), c.meta.NextWorkerID-1):
		case !c.usedUp() && c.newFirst && !spare(row):
		case c.found(row) > c.farthest():
			nearest = min(nearest, c.found(row))
		default:
			usable = append(usable, row)
		}
	}
	return usable, nearest
}

// The ranks of rows, of which the lowest is taken first. Up to rankNew the generator can use the
// row at once.
const (
	rankSpare = -1          // of Auto
	rankNew   = 1 << 50     // a new worker ID; the windows of a lead are fewer
	rankWait  = rankNew + 1 // and the units to wait
)

// rank returns the rank of a row. For a row that can be used at once it is the number of windows
// that the fence is ahead of the clock, begun windows included: in units, all processes would try
// the same row.
func (c *claim) rank(row leasestore.Row) int64 {
	ahead := max(c.found(row)-c.from(c.meta.Fence), 0)
	switch {
	case c.newFirst && row.Version != 0 && spare(row):
		return rankSpare
	case c.status.Lossy && row.Version != 0: // its fence is past after the quarantine
		return 0
	case ahead > c.domain.MaxAhead && row.Version == 0: // after a row with the same wait
		return rankWait + ahead + 1
	case ahead > c.domain.MaxAhead:
		return rankWait + ahead
	case row.Version == 0:
		return rankNew
	}
	return (ahead + c.limits.window - 1) / c.limits.window
}

// spare reports whether a row was created for other processes and never claimed: every claim has an
// owner.
func spare(row leasestore.Row) bool { return row.Token == "" && row.Owner == "" }

// count raises the counter of worker IDs to next, unless another process has.
func (c *claim) count(next int64) error {
	for c.meta.NextWorkerID < next {
		meta := c.meta
		meta.NextWorkerID = next
		if _, err := c.swapMeta(meta); err != nil {
			return err
		}
	}
	return nil
}

// fixed returns the row of the reserved worker ID, unless another owner holds it.
func (c *claim) fixed() ([]leasestore.Row, error) {
	row, err := c.store.Load(c.ctx, c.here.workerID)
	if err != nil {
		return nil, fmt.Errorf("assigner: read row %d: %w", c.here.workerID, err)
	}
	if err = c.taken(row); err == nil && c.found(row) > c.farthest() {
		err = c.none(c.found(row))
	}
	row.WorkerID = c.here.workerID
	return []leasestore.Row{row}, err
}

// take claims a row that was read as old and confirms the claim. It returns neither a lease nor an
// error when another process was faster.
//
// Of a new worker ID it creates the row first: of several processes that want the same worker ID,
// one succeeds. Then it raises the counter, which therefore never passes a worker ID without a row.
// If the process ends in between, other processes count the row, and take it after it has expired.
func (c *claim) take(old leasestore.Row) (*lease, error) {
	fresh := old.Version == 0 && c.source == nil
	l, err := c.swap(old)
	switch {
	case err == nil && l == nil && fresh:
		return nil, c.lose(old.WorkerID)
	case l == nil:
		return nil, err
	case fresh:
		err = c.count(old.WorkerID + 1 + c.createSpares(old.WorkerID+1))
	}
	if err == nil {
		err = c.confirm(l)
	}
	switch {
	case err != nil: // free the row, or it is free when it expires
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
		defer cancel()
		_ = l.End(ctx, Ending{Released: true})
		return nil, err
	case l.quarantine != nil:
		return nil, c.keep(l, l.remains(c.status))
	}
	return l, nil
}

// swap claims a row that was read as old. It returns neither a lease nor an error when the row has
// changed since. The range that it grants starts above the fence in the predicate of the swap.
func (c *claim) swap(old leasestore.Row) (*lease, error) {
	l, ttl := c.grant(old)
	ctx := c.ctx
	if c.source == nil {
		ctx = storecall.Impatient(ctx)
	}
	ok, err := c.store.Swap(ctx, old, l.row, ttl)
	if err != nil {
		found, err := storecall.Swapped(ok, err, old, l.row, l.load(c.ctx))
		if err != nil {
			return nil, fmt.Errorf("assigner: claim row %d: %w", old.WorkerID, err)
		}
		ok = found.Same(l.row)
	}
	if !ok {
		c.raced++
		return nil, nil
	}
	return l, nil
}

// grant returns the lease for a claim of a row, and the row's time to live. On a lossy store the
// lease has no deltas, and is in quarantine.
func (c *claim) grant(old leasestore.Row) (l *lease, ttl time.Duration) {
	fence := c.found(old)
	l = &lease{terms: c.terms, fence: c.meta.Fence, bound: c.meta.Quarantine, guarantee: GuaranteeFenced, namespace: c.status.Namespace,
		server: c.status.Identity, renewed: c.began, safe: c.exclusive()}
	if c.status.Lossy || len(c.status.Faults) > 0 {
		l.guarantee = GuaranteeLossy
	}
	l.pace = c.limits.begin(c.from(c.meta.Fence), c.now, fence)
	l.row = leasestore.Row{WorkerID: old.WorkerID, Version: old.Version + 1, Token: cryptorand.Text(), Owner: c.cfg.Owner, Holder: c.holder, Extra: old.Extra}
	ttl = 2 * c.window()
	l.row.Identity = term(c.meta)
	if c.status.Lossy {
		isolation := c.isolation()
		ttl += isolation
		l.safe += isolation
		l.quarantine = &quarantine{}
		l.row.Fence = fence
	} else {
		l.row.Fence = c.limits.claim(c.from(max(c.meta.Fence, c.meta.Horizon)), fence)
	}
	l.first, l.limit = max(fence, c.meta.Horizon)+1, l.row.Fence
	l.elders, l.row.Oldest, l.row.Former = c.inherit(old, l.first)
	return l, ttl
}

var errMoved = errors.New("assigner: the store has changed during a claim")

// confirm returns errMoved when the store has moved to another server, which may lack commits, when
// a recovery has begun or another bound was stored during the claim, or when the horizon has passed
// its deltas: Assign then begins again. The quarantine of the lease, if any, starts here.
func (c *claim) confirm(l *lease) error {
	meta, err := c.store.LoadMeta(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: read the meta row again: %w", err)
	}
	l.first = max(l.first, meta.Horizon+1)
	if c.bounds, err = c.look(c.ctx); err != nil {
		return err
	}
	passed := l.quarantine == nil && l.first > l.limit && l.first <= c.limits.end
	if meta.Fence != l.fence || meta.Quarantine != l.bound || meta.Recovering() || c.status.Identity != l.server || passed {
		return errMoved
	}
	if l.quarantine != nil {
		*l.quarantine = quarantine{c.clock(), c.isolation(), c.status}
		l.first = max(l.first, c.forgotten(l.fence)+1)
	}
	return nil
}
