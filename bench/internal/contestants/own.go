package contestants

import (
	"context"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/segment"
)

// The names of generators of this library.
const (
	Next       = "Next"
	LaneNext   = "Lane.Next"
	Fill       = "Fill of 256"
	Defaultgen = "defaultgen, 20 sequence bits"
)

// ownGenerators returns the ways to take IDs of this library.
func ownGenerators() []Contestant {
	const perLane, unit = "per lane", "unit 1 ms"
	byLayout := func(name string) *Rate {
		return &Rate{name, perSecond(bitsalloc.Default()), perSecond(bitsalloc.Recommended())}
	}
	list := []Contestant{
		{Name: Next, Order: increasing, Crowd: true, Rate: byLayout("uidring cached"), Open: Started(gauge.Cached, gauge.Next)},
		{Name: LaneNext, Order: perLane, Crowd: true, Note: "a lane per goroutine", Open: Started(gauge.Cached, gauge.LaneNext)},
		{Name: Fill, Order: increasing, Crowd: true, Open: Started(gauge.Cached, gauge.Fill[*cached.Generator])},
		{Name: "Reserve of 256", Order: increasing, Crowd: true, Note: "the numbers are not written out", Open: Started(gauge.Cached, gauge.Reserve)},
		{Name: Defaultgen, Order: increasing, Ahead: Waits, Note: unit, Open: Started(func(ctx context.Context, worker int64) (*defaultgen.Generator, error) {
			return gauge.Defaultgen(ctx, gauge.Wide(), worker)
		}, gauge.DefaultgenNext)},
		{Name: "defaultgen, 12 sequence bits", Order: increasing, Ahead: Waits, Note: unit, PerSecond: 4_096_000, Open: openNarrow},
		{Name: "defaultgen, default layout", Order: increasing, Ahead: Waits, Note: "unit 1 s, 13 sequence bits", PerSecond: 8_192, Rate: byLayout("uidring defaultgen")},
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
			Open: Started(openSegment, gauge.SegmentNext)},
		Contestant{Name: "segment, Lane.Next", Bits: 63, Order: perLane, Worker: ranges, Ahead: noTime, Crowd: true, Note: "a lane per goroutine",
			Open: Started(openSegment, gauge.SegmentLaneNext)})
}

func perSecond(l bitsalloc.Layout) int64 { return 1 << l.SequenceBits * int64(time.Second/l.Unit) }

func openSegment(ctx context.Context, _ int64) (*segment.Generator, error) { return gauge.Segment(ctx) }

// openNarrow has a layout whose IDs run out: the laps wait for the next unit.
func openNarrow(ctx context.Context, worker int64) (gauge.Source, error) {
	g, err := gauge.Defaultgen(ctx, bitsalloc.Snowflake(), worker)
	return gauge.NextContext(ctx, g), err
}
