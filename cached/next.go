package cached

import (
	"context"
	"fmt"
)

// Next returns a new ID. It never waits for time to pass or for a store: when the ring is empty the
// caller puts the next block itself, after a padding pass that may be under way, or gets ErrEmpty,
// as Config.OnEmpty says. The errors are ErrEmpty, ErrTooFarAhead and ErrLeaseExhausted, which
// pass, and ErrTimeExhausted and ErrClosed, which stay.
func (g *Generator) Next() (int64, error) {
	if g.lanes != nil {
		return g.nextOfCPU()
	}
	if id, ok := g.ring.Current().Take(); ok {
		return id, nil
	}
	return g.next()
}

// next is the rest of Next.
func (g *Generator) next() (int64, error) {
	id, err := g.nextFromEmpty(nil)
	return id, g.rejected(err)
}

// NextContext is Next for callers that would rather wait than get an error that passes: it returns
// when there is an ID, with another error, or when ctx ends, with an error that wraps both ctx's
// and the reason for waiting. An ID that is there is returned even when ctx has ended.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	if id, ok := g.take(nil); ok {
		return id, nil
	}
	var padded <-chan struct{}
	for {
		id, err := g.nextFromEmpty(nil)
		if err == nil || !passing(err) {
			return id, g.rejected(err)
		}
		if padded == nil { // a channel is made for those alone who have to wait; they look again
			padded = g.bell.Wait()
			continue
		}
		select {
		case <-padded:
			padded = nil
		case <-ctx.Done():
			return 0, g.rejected(fmt.Errorf("cached: waiting for an ID: %w: %w", ctx.Err(), err))
		}
	}
}

// Fill fills dst with new IDs, increasing but not always consecutive, and returns how many there
// are. With fewer than len(dst) it returns one of the errors of Next; those that it got are good.
func (g *Generator) Fill(dst []int64) (int, error) {
	n := g.ring.TakeN(dst)
	for n < len(dst) {
		if err := g.refill(); err != nil {
			return n, g.rejected(err)
		}
		n += g.ring.TakeN(dst[n:])
	}
	return n, nil
}

// Reserve takes up to n consecutive IDs, from first on, without writing them out. With n of 1 or
// more got is 1 at least, unless there is an error, one of those of Next; it is less than n where a
// unit of time ends.
func (g *Generator) Reserve(n int) (first int64, got int, err error) {
	for n > 0 {
		if first, got, ok := g.ring.TakeBlock(n); ok {
			return first, got, nil
		}
		if err := g.refill(); err != nil {
			return 0, 0, g.rejected(err)
		}
	}
	return 0, 0, nil
}

// take returns the next ID of a lane, or, without one, of the lane of this CPU or the ring.
func (g *Generator) take(l *lane) (int64, bool) {
	switch {
	case l != nil:
		return l.take(g)
	case g.lanes != nil:
		return g.takeFromCPU()
	}
	return g.ring.Take()
}

func (g *Generator) nextFromEmpty(l *lane) (int64, error) {
	for {
		if id, ok := g.take(l); ok { // after bell.Wait, a caller must look again
			return id, nil
		}
		if err := g.refill(); err != nil {
			return 0, err
		}
	}
}

// refill is for a caller that has found the ring empty. After nil it is worth taking again.
func (g *Generator) refill() error {
	if g.cfg.OnEmpty == Reject {
		return g.reject()
	}
	return g.padInline()
}

// reject wakes the padding goroutine and says why the ring is empty.
func (g *Generator) reject() error {
	if g.closed.Load() {
		return ErrClosed
	}
	signal(g.wake)
	refused := g.refused.Load()
	switch {
	case refused == nil && g.keeper.Current() == nil: // the padding goroutine has not noticed yet
		return fmt.Errorf("%w: %w", ErrEmpty, g.keeper.Shortage(ErrLeaseExhausted))
	case refused == nil:
		return ErrEmpty
	case passing(*refused):
		return fmt.Errorf("%w: %w", ErrEmpty, *refused)
	default:
		return *refused
	}
}

// rejected reports an error to the user of a method before it is returned.
func (g *Generator) rejected(err error) error {
	if err != nil && !isClosed(err) {
		g.rejectedTakes.Add(1)
		report(g, "TakeRejected", g.cfg.Trace.TakeRejected, err)
	}
	return err
}

// signal puts a token into a channel of capacity 1, unless there is one already.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
