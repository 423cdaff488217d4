package main

import (
	"context"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// batchSize is how many IDs Fill and Reserve take at once.
const batchSize = 256

func ownGenerators() []contestant {
	const (
		leased   = "worker ID, leased with a fence"
		maxAhead = "up to MaxAhead, by default unbounded"
	)
	return []contestant{
		{name: "Next", bits: 63, order: increasing, worker: leased, ahead: maxAhead, crowd: true, open: openCached(1, takeNext)},
		{name: "Next, a lane per CPU", bits: 63, order: "per lane", worker: leased, ahead: maxAhead, crowd: true, open: openCached(cached.LanePerCPU, takeNext)},
		{name: "Lane.Next", bits: 63, order: "per lane", worker: leased, ahead: maxAhead, note: "a lane per goroutine", crowd: true, open: openCached(1, takeLane)},
		{name: "Fill of 256", bits: 63, order: increasing, worker: leased, ahead: maxAhead, crowd: true, open: openCached(1, takeFill)},
		{name: "Reserve of 256", bits: 63, order: increasing, worker: leased, ahead: maxAhead, note: "the numbers are not written out", crowd: true, open: openCached(1, takeReserve)},
		{name: "defaultgen, 20 sequence bits", bits: 63, order: increasing, worker: leased, ahead: aheadNone, note: "unit 1 ms; the time is that of the call",
			open: openDefaultgen(bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 20, Unit: bitsalloc.Snowflake().Unit})},
		{name: "defaultgen, 12 sequence bits", bits: 63, order: increasing, worker: leased, ahead: aheadNone, note: "unit 1 ms; the time is that of the call",
			perSecond: 4_096_000, open: openDefaultgen(bitsalloc.Snowflake())},
		{name: "defaultgen, default layout", bits: 63, order: increasing, worker: leased, ahead: aheadNone, note: "unit 1 s, 13 sequence bits", perSecond: 8_192},
	}
}

// joinFunc returns the join func of a source for a generator.
type joinFunc func(g *cached.Generator) func() (taker, func())

func openCached(lanes int, join joinFunc) func(context.Context, int64) (source, error) {
	return func(ctx context.Context, worker int64) (source, error) {
		g, err := cached.NewContext(ctx, cached.Config{
			Assigner:   assigner.Static(worker),
			AllowReuse: true, // nobody keeps the IDs
			Lanes:      lanes,
		})
		if err != nil {
			return source{}, err
		}
		return source{join(g), g.Close}, nil
	}
}

func takeNext(g *cached.Generator) func() (taker, func()) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			if last, err = g.Next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}, nil).join
}

func takeLane(g *cached.Generator) func() (taker, func()) {
	return func() (taker, func()) {
		lane := g.Lane()
		return func(n int) (last int64, err error) {
			for range n {
				if last, err = lane.Next(); err != nil {
					return 0, err
				}
			}
			return last, nil
		}, lane.Close
	}
}

func takeFill(g *cached.Generator) func() (taker, func()) {
	return func() (taker, func()) {
		dst := make([]int64, batchSize)
		return func(n int) (int64, error) {
			for n > 0 {
				got, err := g.Fill(dst[:min(n, batchSize)])
				if err != nil {
					return 0, err
				}
				n -= got
			}
			return dst[0], nil
		}, func() {}
	}
}

func takeReserve(g *cached.Generator) func() (taker, func()) {
	return shared(func(n int) (last int64, err error) {
		for n > 0 {
			first, got, err := g.Reserve(min(n, batchSize))
			if err != nil {
				return 0, err
			}
			n -= got
			last = first
		}
		return last, nil
	}, nil).join
}

func openDefaultgen(layout bitsalloc.Layout) func(context.Context, int64) (source, error) {
	return func(ctx context.Context, worker int64) (source, error) {
		g, err := defaultgen.NewContext(ctx, defaultgen.Config{
			Layout:     layout,
			Assigner:   assigner.Static(worker % (1 << layout.WorkerBits)),
			AllowReuse: true,
		})
		if err != nil {
			return source{}, err
		}
		return shared(func(n int) (last int64, err error) {
			for range n {
				if last, err = g.NextContext(ctx); err != nil {
					return 0, err
				}
			}
			return last, nil
		}, g.Close), nil
	}
}
