package contestants

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/segment"
)

// batchSize is the number of IDs that Fill and Reserve take at once.
const batchSize = 256

func ownGenerators() []Contestant {
	const perLane, call = "per lane", "unit 1 ms; the time is the time of the call"
	wide := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 20, Unit: time.Millisecond}
	list := []Contestant{
		{Name: "Next", Order: increasing, Open: openCached(1, taking(load.Load{}))},
		{Name: "Next, a lane per CPU", Order: perLane, Open: openCached(cached.LanePerCPU, taking(load.Load{}))},
		{Name: "Lane.Next", Order: perLane, Note: "a lane per goroutine", Open: openCached(1, taking(load.Load{Lanes: load.LanePerGoroutine}))},
		{Name: "Fill of 256", Order: increasing, Open: openCached(1, taking(load.Load{Batch: batchSize}))},
		{Name: "Reserve of 256", Order: increasing, Note: "the numbers are not written out", Open: openCached(1, takeReserve)},
		{Name: "defaultgen, 20 sequence bits", Ahead: aheadNone, Note: call, Open: openDefaultgen(wide)},
		{Name: "defaultgen, 12 sequence bits", Ahead: aheadNone, Note: call, PerSecond: 4_096_000, Open: openDefaultgen(bitsalloc.Snowflake())},
		{Name: "defaultgen, default layout", Ahead: aheadNone, Note: "unit 1 s, 13 sequence bits", PerSecond: 8_192},
	}
	for i := range list {
		c := &list[i]
		c.Bits, c.Worker = 63, "worker ID; a fixed one in these laps"
		if c.Ahead == "" {
			c.Ahead, c.Crowd = "up to MaxAhead, by default unbounded", true
			continue
		}
		c.Order = increasing
	}
	const ranges, noTime = "a range of a counter in your store", "no time in the ID"
	return append(list,
		Contestant{Name: "segment", Bits: 63, Order: increasing, Worker: ranges, Ahead: noTime, Crowd: true, Note: "dense numbers",
			Open: openSegment(func(g *segment.Generator) load.Source { return load.Shared(each(g.Next), g.Close) })},
		Contestant{Name: "segment, Lane.Next", Bits: 63, Order: perLane, Worker: ranges, Ahead: noTime, Crowd: true, Note: "a lane per goroutine",
			Open: openSegment(func(g *segment.Generator) load.Source {
				return load.Source{Join: func() (load.Taker, func()) {
					lane := g.Lane()
					return each(lane.Next), lane.Close
				}, Close: g.Close}
			})})
}

// each returns a taker that calls next for each ID.
func each(next func() (int64, error)) load.Taker {
	return func(n int) (last int64, err error) {
		for range n {
			if last, err = next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}
}

// A counter is a source in memory, as wuid's store is here: the figures leave out the store. The
// ranges of a million IDs need it about a hundred times a second.
type counter struct{ last atomic.Int64 }

// Advance implements segment.Source.
func (c *counter) Advance(_ context.Context, _ string, n int64) (segment.Range, error) {
	last := c.last.Add(n)
	return segment.Range{First: last - n + 1, Last: last}, nil
}

func openSegment(source func(*segment.Generator) load.Source) func(context.Context, int64) (load.Source, error) {
	return func(ctx context.Context, _ int64) (load.Source, error) {
		g, err := segment.NewContext(ctx, segment.Config{Name: "bench", Source: new(counter), Step: 1_000_000})
		if err != nil {
			return load.Source{}, err
		}
		return source(g), nil
	}
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

func taking(l load.Load) func(*cached.Generator) load.Source {
	return func(g *cached.Generator) load.Source { return load.Cached(g, l) }
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
