package gauge

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/segment"
)

// The loops below are alike: each calls the method of its type directly. A func value or a type
// parameter would add an indirect call to each ID, which the atomic add beside it does not have.

var silent = slog.New(slog.DiscardHandler)

// Cached makes a generator with its defaults and a fixed worker ID. Its IDs are not kept.
func Cached(ctx context.Context, worker int64) (*cached.Generator, error) {
	return cached.NewContext(ctx, cached.Config{Assigner: assigner.Static(worker), AllowReuse: true, Logger: silent})
}

// Next returns a source that calls Next.
func Next(g *cached.Generator) Source {
	return Shared(func(n int) (last int64, err error) {
		for range n {
			if last, err = g.Next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}, g.Close)
}

// LaneNext returns a source with a Lane for each goroutine.
func LaneNext(g *cached.Generator) Source {
	return Source{Join: func() Taker {
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

// A filler is a generator of any kind.
type filler interface {
	Fill(dst []int64) (int, error)
	io.Closer
}

// Fill returns a source that fills a slice of Stride for each goroutine.
func Fill[F filler](g F) Source {
	return Source{Join: func() Taker {
		dst := make([]int64, Stride)
		return func(n int) (last int64, err error) {
			for n > 0 {
				got, err := g.Fill(dst[:min(n, Stride)])
				if err != nil {
					return 0, err
				}
				n, last = n-got, dst[got-1]
			}
			return last, nil
		}
	}, Close: g.Close}
}

// Reserve returns a source that takes ranges of Stride and does not write the numbers.
func Reserve(g *cached.Generator) Source {
	return Shared(func(n int) (last int64, err error) {
		for n > 0 {
			first, got, err := g.Reserve(min(n, Stride))
			if err != nil {
				return 0, err
			}
			n, last = n-got, first
		}
		return last, nil
	}, g.Close)
}

// Wide returns the layout of a defaultgen that a loop does not use up: 2^20 IDs a millisecond.
func Wide() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 20, Unit: time.Millisecond}
}

// Defaultgen makes a generator with a fixed worker ID. Its IDs are not kept.
func Defaultgen(ctx context.Context, layout bitsalloc.Layout, worker int64) (*defaultgen.Generator, error) {
	return defaultgen.NewContext(ctx, defaultgen.Config{
		Layout: layout, Assigner: assigner.Static(worker % (1 << layout.WorkerBits)), AllowReuse: true, Logger: silent,
	})
}

// DefaultgenNext returns a source that calls Next, for a layout whose IDs do not run out.
func DefaultgenNext(g *defaultgen.Generator) Source {
	return Shared(func(n int) (last int64, err error) {
		for range n {
			if last, err = g.Next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}, g.Close)
}

// NextContext returns a source that calls NextContext, and waits for the units of a layout.
func NextContext(ctx context.Context, g *defaultgen.Generator) Source {
	return Shared(Each(func() (int64, error) { return g.NextContext(ctx) }), g.Close)
}

// A counter is a segment.Source in memory: the figures leave out the store.
type counter struct{ last atomic.Int64 }

// Advance implements [segment.Source].
func (c *counter) Advance(_ context.Context, _ string, n int64) (segment.Range, error) {
	last := c.last.Add(n)
	return segment.Range{First: last - n + 1, Last: last}, nil
}

// Segment makes a generator of a counter in memory.
func Segment(ctx context.Context) (*segment.Generator, error) {
	return segment.NewContext(ctx, segment.Config{Name: "bench", Source: new(counter), Step: 1_000_000, Logger: silent})
}

// SegmentNext returns a source that calls Next.
func SegmentNext(g *segment.Generator) Source {
	return Shared(func(n int) (last int64, err error) {
		for range n {
			if last, err = g.Next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}, g.Close)
}

// SegmentLaneNext returns a source with a Lane for each goroutine.
func SegmentLaneNext(g *segment.Generator) Source {
	return Source{Join: func() Taker {
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
