package contestants

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// batchSize is the number of IDs that Fill and Reserve take at once.
const batchSize = 256

func ownGenerators() []Contestant {
	const perLane, call = "per lane", "unit 1 ms; the time is the time of the call"
	wide := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 20, Unit: time.Millisecond}
	list := []Contestant{
		{Name: "Next", Order: increasing, Open: openCached(1, takeNext)},
		{Name: "Next, a lane per CPU", Order: perLane, Open: openCached(cached.LanePerCPU, takeNext)},
		{Name: "Lane.Next", Order: perLane, Note: "a lane per goroutine", Open: openCached(1, takeLane)},
		{Name: "Fill of 256", Order: increasing, Open: openCached(1, takeFill)},
		{Name: "Reserve of 256", Order: increasing, Note: "the numbers are not written out", Open: openCached(1, takeReserve)},
		{Name: "defaultgen, 20 sequence bits", Ahead: aheadNone, Note: call, Open: openDefaultgen(wide)},
		{Name: "defaultgen, 12 sequence bits", Ahead: aheadNone, Note: call, PerSecond: 4_096_000, Open: openDefaultgen(bitsalloc.Snowflake())},
		{Name: "defaultgen, default layout", Ahead: aheadNone, Note: "unit 1 s, 13 sequence bits", PerSecond: 8_192},
	}
	for i := range list {
		c := &list[i]
		c.Bits, c.Worker = 63, "worker ID, leased with a fence"
		if c.Ahead == "" {
			c.Ahead, c.Crowd = "up to MaxAhead, by default unbounded", true
			continue
		}
		c.Order = increasing
	}
	return list
}

func openCached(lanes int, source func(g *cached.Generator) load.Source) func(context.Context, int64) (load.Source, error) {
	return func(ctx context.Context, worker int64) (load.Source, error) {
		g, err := cached.NewContext(ctx, cached.Config{
			Assigner:   assigner.Static(worker),
			AllowReuse: true, // the IDs are not kept
			Lanes:      lanes,
		})
		if err != nil {
			return load.Source{}, err
		}
		return source(g), nil
	}
}

func takeNext(g *cached.Generator) load.Source { return load.Cached(g, 0) }
func takeFill(g *cached.Generator) load.Source { return load.Cached(g, batchSize) }

func takeLane(g *cached.Generator) load.Source {
	return load.Source{Join: func() (load.Taker, func()) {
		lane := g.Lane()
		return func(n int) (last int64, err error) {
			for range n {
				if last, err = lane.Next(); err != nil {
					return 0, err
				}
			}
			return last, nil
		}, lane.Close
	}, Close: g.Close}
}

func takeReserve(g *cached.Generator) load.Source {
	return load.Shared(func(n int) (last int64, err error) {
		for n > 0 {
			first, got, err := g.Reserve(min(n, batchSize))
			if err != nil {
				return 0, err
			}
			n -= got
			last = first
		}
		return last, nil
	}, g.Close)
}

func openDefaultgen(layout bitsalloc.Layout) func(context.Context, int64) (load.Source, error) {
	return func(ctx context.Context, worker int64) (load.Source, error) {
		g, err := defaultgen.NewContext(ctx, defaultgen.Config{
			Layout:     layout,
			Assigner:   assigner.Static(worker % (1 << layout.WorkerBits)),
			AllowReuse: true,
		})
		if err != nil {
			return load.Source{}, err
		}
		return load.Shared(func(n int) (last int64, err error) {
			for range n {
				if last, err = g.NextContext(ctx); err != nil {
					return 0, err
				}
			}
			return last, nil
		}, g.Close), nil
	}
}
