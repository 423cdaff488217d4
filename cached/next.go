package cached

import (
	"context"

	"github.com/uidring/uidring/internal/generator"
)

// Next returns a new ID. It never waits for time to pass or for a store. When the ring is empty, it
// waits for a padding pass in progress, and then Config.OnEmpty decides: under PadInline the caller
// puts the next block itself, under Reject it gets ErrEmpty. The errors ErrEmpty, ErrTooFarAhead
// and ErrLeaseExhausted pass: [Generator.NextContext] waits until they do, or until its context
// ends. ErrTimeExhausted and ErrClosed are permanent.
func (g *Generator) Next() (int64, error) {
	if id, ok := g.ring.Current().Take(); ok { //mutate:argument Take of the ring is slower
		return id, nil
	}
	id, _, err := g.Reserve(1)
	return id, err
}

// NextContext is [Generator.Next], but waits instead of returning an error that passes: through an
// outage of the store, too, so give ctx a deadline. It returns an ID, a permanent error, or, when
// ctx ends first, an error that wraps ctx's error and the reason for waiting. If the generator has
// an ID, NextContext returns it even when ctx has ended.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	if id, ok := g.ring.Take(); ok {
		return id, nil
	}
	id, _, err := g.ReserveContext(ctx, 1)
	return id, err
}

// Fill fills dst with new IDs, increasing but not always consecutive, and returns their number.
// If it gets fewer than len(dst) it also returns one of the errors of Next; the IDs in dst are
// valid.
func (g *Generator) Fill(dst []int64) (int, error) { return generator.Fill(dst, g.Reserve) }

// FillContext is [Generator.Fill], but waits as [Generator.NextContext] does.
func (g *Generator) FillContext(ctx context.Context, dst []int64) (int, error) {
	return generator.Fill(dst, func(n int) (int64, int, error) { return g.ReserveContext(ctx, n) })
}

// Reserve takes up to n consecutive IDs of the stream, from first to first+got-1. got is less than
// n if a unit of time ends before. For n of 1 or more, got is at least 1, or Reserve returns one of
// the errors of Next; for a smaller n it returns zeros.
func (g *Generator) Reserve(n int) (first int64, got int, err error) {
	if first, got, ok := g.ring.TakeBlock(n); ok {
		return first, got, nil
	}
	return g.path.Reserve(n)
}

// ReserveContext is [Generator.Reserve], but waits as [Generator.NextContext] does.
func (g *Generator) ReserveContext(ctx context.Context, n int) (first int64, got int, err error) {
	return g.path.ReserveContext(ctx, n)
}

// take takes up to n consecutive IDs of the ring. If the ring is empty, it makes an inline pass.
func (g *Generator) take(_ context.Context, n int) (first int64, got int, err error) {
	first, got, ok := g.ring.TakeBlock(n)
	if !ok {
		err = g.pad(true)
	}
	return first, got, err
}
