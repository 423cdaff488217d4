package defaultgen

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
)

// Next returns a new ID. It does not wait. The errors ErrSequenceExhausted, ErrClockBack and
// ErrLeaseExhausted pass: [Generator.NextContext] waits until they do, or until its context ends.
// ErrClosed is permanent, and so is ErrTimeExhausted unless the clock was wrong.
func (g *Generator) Next() (int64, error) {
	if u := g.unit.Load(); g.clock.within(u.until.Load()) {
		if id, ok := u.takeOne(); ok {
			return id, nil
		}
	}
	id, _, err := g.Reserve(1)
	return id, err
}

// NextContext is [Generator.Next], but waits for the next unit, for a worker ID, and for a clock
// that is behind: through an outage of the store, too, so give ctx a deadline. It returns an ID, a
// permanent error, or, when ctx ends first, an error that wraps ctx's error and the reason for
// waiting. If an ID is available without waiting, NextContext returns it even when ctx has ended.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	//mutate:false ReserveContext takes the ID, too
	if u := g.unit.Load(); g.clock.within(u.until.Load()) {
		if id, ok := u.takeOne(); ok {
			return id, nil
		}
	}
	id, _, err := g.ReserveContext(ctx, 1)
	return id, err
}

// Fill fills dst with new, increasing IDs and returns their number. If it gets fewer than len(dst)
// it also returns one of the errors of Next; the IDs in dst are valid. It does not wait.
func (g *Generator) Fill(dst []int64) (int, error) { return generator.Fill(dst, g.Reserve) }

// FillContext is [Generator.Fill], but waits as [Generator.NextContext] does.
func (g *Generator) FillContext(ctx context.Context, dst []int64) (int, error) {
	return generator.Fill(dst, func(n int) (int64, int, error) { return g.ReserveContext(ctx, n) })
}

// Reserve takes up to n consecutive IDs, from first to first+got-1. got is less than n if a unit of
// time ends before. For n of 1 or more, got is at least 1, or Reserve returns one of the errors of
// Next; for a smaller n it returns zeros.
func (g *Generator) Reserve(n int) (first int64, got int, err error) { return g.path.Reserve(n) }

// ReserveContext is [Generator.Reserve], but waits as [Generator.NextContext] does.
func (g *Generator) ReserveContext(ctx context.Context, n int) (first int64, got int, err error) {
	return g.path.ReserveContext(ctx, n)
}

// take takes up to n consecutive IDs of the current unit. It returns neither IDs nor an error when
// the unit or the lease has changed meanwhile.
func (g *Generator) take(_ context.Context, n int) (first int64, got int, err error) {
	u := g.unit.Load()
	if g.clock.within(u.until.Load()) { //mutate:false a reading of the clock costs time alone
		if first, got := u.take(n); got > 0 {
			return first, got, nil
		}
	}
	grant := g.keeper.Current()
	if grant == nil {
		return 0, 0, g.keeper.Shortage()
	}
	now := g.now(grant)
	delta, err := g.deltaAt(now.time, u, grant)
	if err == nil && delta != u.delta {
		if u = g.enter(u, grant, delta); u == nil {
			return 0, 0, nil //mutate:number callers read no ID beside 0
		}
	}
	if err == nil {
		u.until.Store(g.clock.until(now, g.alloc.Time(delta+1)))
		if first, got := u.take(n); got > 0 {
			return first, got, nil
		}
		err = g.usedUp(delta, now.time)
	}
	if g.unit.Load() != u || g.keeper.Current() != grant {
		return 0, 0, nil //mutate:number callers read no ID beside 0
	}
	return 0, 0, err
}

// deltaAt returns the delta that IDs may have at now under grant; it is u.delta when u may go on.
func (g *Generator) deltaAt(now time.Time, u *unit, grant *keeper.State) (int64, error) {
	used := max(u.delta, grant.First-1) // earlier holders may have used the deltas below First
	delta := g.alloc.Delta(now)
	if delta < used && g.clock.goOn { // only an earlier holder can be ahead of this clock
		delta = used + 1
		g.clock.raise(g.alloc.Time(delta))
	}
	switch {
	case delta < used:
		behind := g.alloc.Time(used).Sub(now)
		return 0, generator.Passing{Err: fmt.Errorf("%w the last used unit (worker ID %d): by %v", ErrClockBack, grant.WorkerID, behind), After: behind}
	case delta == used && u.generation != grant.Generation:
		return 0, g.usedUp(delta, now) // IDs increase: another lease may have a smaller worker ID
	case delta > g.alloc.MaxDelta() && grant.Last >= g.alloc.MaxDelta(): // with a lower Last the clock is wrong
		return 0, g.keeper.Exhausted()
	case delta > grant.Last:
		g.keeper.Extend(delta)
		return 0, g.keeper.Shortage()
	case delta >= grant.Half:
		g.keeper.Extend(grant.Last + 1) // ahead of need, so that a slow store costs nothing
	}
	return delta, nil
}

// usedUp returns the error for a unit that has no ID left at now.
func (g *Generator) usedUp(delta int64, now time.Time) error {
	return generator.Passing{Err: ErrSequenceExhausted, After: g.alloc.Time(delta + 1).Sub(now)}
}
