package assigner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
)

const (
	// listed is the number of expired rows that a claim reads at first, enough for processes that
	// start at once to try different rows.
	listed = 256
	// attempts is the number of rows that it tries in a round: if all of them are lost, there are
	// more processes than rows.
	attempts = 8
)

// free returns the rows to try, the best first: rows that the generator can use at once, the next
// worker ID that was never given out, and rows that it has to wait for. It returns an error if
// there are none. While there are new worker IDs, Auto takes only spares, of the first rows. Other
// claims read more rows when all rows that they have read are unusable.
func (c *claim) free() ([]leasestore.Row, error) {
	for n := listed; ; n *= 8 {
		rows, err := c.leaser.store.Expired(c.ctx, n)
		if err != nil {
			return nil, fmt.Errorf("assigner: list the expired rows: %w", err)
		}
		c.listed = rows //mutate:swap withheld does not read listed
		free := slices.DeleteFunc(slices.Clone(rows), c.withheld)
		if len(rows) == n && (c.usedUp() || !c.leaser.newFirst) && !slices.ContainsFunc(free, c.inReach) {
			continue
		}
		if !c.usedUp() {
			free = append(free, leasestore.Row{WorkerID: c.meta.NextWorkerID})
		}
		usable := slices.DeleteFunc(slices.Clone(free), func(r leasestore.Row) bool { return !c.inReach(r) })
		if len(usable) == 0 {
			return nil, c.none(free)
		}
		// In each rank use a random order, so that processes that start at once try different rows.
		c.leaser.shuffle(len(usable), func(i, j int) { usable[i], usable[j] = usable[j], usable[i] })
		slices.SortStableFunc(usable, func(a, b leasestore.Row) int { return slices.Compare(c.rank(a), c.rank(b)) })
		return usable[:min(attempts, len(usable))], nil //mutate:argument the number of rows tried is tuning
	}
}

// withheld reports whether a row that was listed is not to be taken. The worker ID of a row that is
// not counted yet would be given out again if the row were deleted.
func (c *claim) withheld(row leasestore.Row) bool {
	return row.Expires.After(c.view.status.Now) || row.WorkerID > min(c.terms.domain.MaxWorkerID(), c.meta.NextWorkerID-1) ||
		!c.usedUp() && c.leaser.newFirst && !spare(row)
}

// inReach reports whether the fence of a row is not too far ahead of the clock.
func (c *claim) inReach(row leasestore.Row) bool {
	return c.found(row) <= c.view.fences.farthest(c.view.from(c.meta.Fence))
}

// rank returns the rank of a row; the lowest is taken first. It is the time for which the generator
// has to wait, and then the number of windows that the fence is ahead of the clock, begun windows
// included: in units, all processes would try the same row. A new worker ID comes after rows with
// the same wait, and for Auto a spare before all others.
func (c *claim) rank(row leasestore.Row) []int64 {
	ahead := max(c.found(row)-c.view.from(c.meta.Fence), 0)
	wait := max(ahead-c.terms.domain.MaxAhead, 0)
	switch {
	case row.Version == 0:
		return []int64{wait, math.MaxInt64}
	case c.leaser.newFirst && spare(row):
		return nil
	case c.view.status.Lossy: // its fence is past after the quarantine
		return []int64{0}
	}
	return []int64{wait, (ahead + c.view.fences.window - 1) / c.view.fences.window}
}

// spare reports whether a row was created for other processes and never claimed: every claim has an
// owner.
func spare(row leasestore.Row) bool { return row.Token == "" && row.Owner == "" }

// fixed returns the row of the reserved worker ID, unless another owner holds it.
func (c *claim) fixed() ([]leasestore.Row, error) {
	row, err := c.leaser.store.Load(c.ctx, c.seat.workerID)
	if err != nil {
		return nil, fmt.Errorf("assigner: read row %d: %w", c.seat.workerID, err)
	}
	row.WorkerID = c.seat.workerID
	rows := []leasestore.Row{row}
	//mutate:operand a row that was not read has fence 0
	if err = c.taken(row); err == nil && !c.inReach(row) {
		err = c.none(rows)
	}
	return rows, err
}

// usedUp reports whether all worker IDs of the layout have been given out.
func (c *claim) usedUp() bool { return c.meta.NextWorkerID > c.terms.domain.MaxWorkerID() }

// none returns the error for a claim that found no worker ID that it can take. The fences of the
// free ones, if there are any, are too far ahead of the clock: the lowest says how long to wait.
func (c *claim) none(free []leasestore.Row) error {
	if len(free) > 0 {
		nearest := c.found(slices.MinFunc(free, func(a, b leasestore.Row) int { return cmp.Compare(c.found(a), c.found(b)) }))
		after := c.terms.alloc.Time(nearest).Sub(c.terms.alloc.Time(c.view.fences.farthest(c.view.now))) // saturates, unlike a product
		if nearest <= c.meta.Quarantine {
			return generator.Passing{Err: fmt.Errorf("%w: for %v more: the store may have lost commits: it went back, or is another server or another copy of its file, now %q",
				ErrQuarantined, after, c.meta.Identity), After: after}
		}
		return generator.Passing{Err: fmt.Errorf("%w: the fences of all free worker IDs are more than %v ahead; wait for the clock, or raise MaxLead in the whole "+
			"namespace; if generators run ahead all the time, choose a layout with more sequence bits", ErrWorkerAheadOfClock, c.terms.span(c.view.fences.lead)), After: after}
	}
	return generator.Passing{Err: fmt.Errorf("%w: all %d have been given out, and none is free; wait until one is released, or use another namespace "+
		"with another DatacenterID; IDs of a layout with more worker bits need new tables, since they can be equal to the old ones", ErrWorkersExhausted,
		c.terms.domain.MaxWorkerID()-c.terms.cfg.FirstWorkerID+1), After: time.Second}
}
