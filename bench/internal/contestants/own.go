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

// batch is the number of IDs that Fill and Reserve take at once.
const batch = 256

func ownGenerators() []Contestant {
	const perLane, unit = "per lane", "unit 1 ms"
	wide := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 20, Unit: time.Millisecond}
	byLayout := func(name string) *Rate {
		return &Rate{name, perSecond(bitsalloc.Default()), perSecond(bitsalloc.Recommended())}
	}
	list := []Contestant{
		{Name: "Next", Order: increasing, Crowd: true, Rate: byLayout("uidring cached"), Open: openCached(Next)},
		{Name: "Lane.Next", Order: perLane, Crowd: true, Note: "a lane per goroutine", Open: openCached(laneNext)},
		{Name: "Fill of 256", Order: increasing, Crowd: true, Open: openCached(fill)},
		{Name: "Reserve of 256", Order: increasing, Crowd: true, Note: "the numbers are not written out", Open: openCached(reserve)},
		{Name: "defaultgen, 20 sequence bits", Order: increasing, Ahead: aheadNone, Note: unit, Open: openDefaultgen(wide)},
		{Name: "defaultgen, 12 sequence bits", Order: increasing, Ahead: aheadNone, Note: unit, PerSecond: 4_096_000, Open: openDefaultgen(bitsalloc.Snowflake())},
		{Name: "defaultgen, default layout", Order: increasing, Ahead: aheadNone, Note: "unit 1 s, 13 sequence bits", PerSecond: 8_192, Rate: byLayout("uidring defaultgen")},
	}
	for i := range list {
		c := &list[i]
		c.Bits, c.Worker = 63, "worker ID; a fixed one in these laps"
		if c.Ahead == "" {
			c.Ahead = "up to MaxAhead, by default unbounded"
		}
	}
	const ranges, noTime = "a range of a counter in your store", "no time in the ID"
	return append(list,
		Contestant{Name: "segment", Bits: 63, Order: increasing, Worker: ranges, Ahead: noTime, Crowd: true, Note: "dense numbers", Rate: &Rate{Name: "uidring segment"},
			Open: openSegment(func(g *segment.Generator) load.Source { return load.Shared(load.Each(g.Next), g.Close) })},
		Contestant{Name: "segment, Lane.Next", Bits: 63, Order: perLane, Worker: ranges, Ahead: noTime, Crowd: true, Note: "a lane per goroutine",
			Open: openSegment(func(g *segment.Generator) load.Source {
				return load.Source{Join: func() load.Taker { return load.Each(g.Lane().Next) }, Close: g.Close}
			})})
}

func perSecond(l bitsalloc.Layout) int64 { return 1 << l.SequenceBits * int64(time.Second/l.Unit) }

func openCached(source func(*cached.Generator) load.Source) func(context.Context, int64) (load.Source, error) {
	return func(ctx context.Context, worker int64) (load.Source, error) {
		g, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Static(worker), AllowReuse: true}) // the IDs are not kept
		if err != nil {
			return load.Source{}, err
		}
		return source(g), nil
	}
}

// Next returns a source that calls Next.
func Next(g *cached.Generator) load.Source {
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			if last, err = g.Next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}, g.Close)
}

// laneNext returns a source with a Lane for each goroutine.
func laneNext(g *cached.Generator) load.Source {
	return load.Source{Join: func() load.Taker {
		lane := g.Lane()
		return func(n int) (last int64, err error) {
			for range n {
				if last, err = lane.Next(); err != nil {
					return 0, err
				}
			}
			return last, nil
		}
	}, Close: g.Close}
}

func fill(g *cached.Generator) load.Source {
	return load.Source{Join: func() load.Taker {
		dst := make([]int64, batch)
		return func(n int) (last int64, err error) {
			for n > 0 {
				got, err := g.Fill(dst[:min(n, batch)])
				if err != nil {
					return 0, err
				}
				n, last = n-got, dst[got-1]
			}
			return last, nil
		}
	}, Close: g.Close}
}

func reserve(g *cached.Generator) load.Source {
	return load.Shared(func(n int) (last int64, err error) {
		for n > 0 {
			first, got, err := g.Reserve(min(n, batch))
			if err != nil {
				return 0, err
			}
			n, last = n-got, first
		}
		return last, nil
	}, g.Close)
}

func openDefaultgen(layout bitsalloc.Layout) func(context.Context, int64) (load.Source, error) {
	return func(ctx context.Context, worker int64) (load.Source, error) {
		g, err := defaultgen.NewContext(ctx, defaultgen.Config{
			Layout: layout, Assigner: assigner.Static(worker % (1 << layout.WorkerBits)), AllowReuse: true,
		})
		if err != nil {
			return load.Source{}, err
		}
		return load.Shared(load.Each(func() (int64, error) { return g.NextContext(ctx) }), g.Close), nil
	}
}

// A counter is a source in memory, like wuid's store here: the figures leave out the store.
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
