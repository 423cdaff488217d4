package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/idset"
)

// The errors of a count.
var (
	errDuplicate = errors.New("duplicate")
	errOrder     = errors.New("order violated")
	errForeign   = errors.New("foreign worker")
	errMiscount  = errors.New("miscount")
)

// A count takes IDs of a generator by Next, Fill, Reserve and lanes, and counts each. The generator
// must keep its worker ID. After run, taken and wall tell the outcome.
type count struct {
	layout     bitsalloc.Layout
	gen        *cached.Generator
	goroutines int
	target     int64 // IDs to take, at least

	taken atomic.Int64
	wall  time.Duration
	seen  idset.Set
	who   int64 // datacenter and worker bits of every ID
	mask  int64
}

// run takes IDs until there are enough. It fails at the first ID that is a duplicate, out of
// order or of another worker, and if the generator has issued fewer IDs than it has returned.
func (c *count) run(ctx context.Context) error {
	l, issued := c.layout, c.gen.Stats().Issued
	c.who = c.gen.Stats().DatacenterID<<(l.WorkerBits+l.SequenceBits) | c.gen.WorkerID()<<l.SequenceBits
	c.mask = 1<<(l.DatacenterBits+l.WorkerBits+l.SequenceBits) - 1<<l.SequenceBits
	var err error
	c.wall, err = load.Race(ctx, c.goroutines, 0, func(i int, stop *atomic.Bool) error {
		t := taker{count: c, random: rand.New(rand.NewPCG(3, uint64(i))), ids: make([]int64, gauge.Stride)}
		t.lane = c.gen.Lane()
		for !stop.Load() {
			if err := t.turn(); err != nil {
				return err
			}
			if c.taken.Load() >= c.target {
				stop.Store(true)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if issued = c.gen.Stats().Issued - issued; int64(c.seen.Len()) != c.taken.Load() || issued < c.taken.Load() {
		return fmt.Errorf("%w: %d IDs taken, %d different ones counted, %d issued by the generator", errMiscount, c.taken.Load(), c.seen.Len(), issued)
	}
	return nil
}

// A taker takes IDs for one goroutine.
type taker struct {
	count  *count
	random *rand.Rand
	lane   *cached.Lane
	ids    []int64
	last   [2]int64 // of the stream, of lanes
}

// turn takes at most 256 IDs in one way, and counts them.
func (t *taker) turn() (err error) {
	g, last, n := t.count.gen, &t.last[0], 0
	switch t.random.IntN(4) {
	case 0:
		n, err = t.each(g.Next)
	case 1:
		n, err = g.Fill(t.ids)
	case 2:
		var first int64
		first, n, err = g.Reserve(1 + t.random.IntN(len(t.ids)))
		for i := range n {
			t.ids[i] = first + int64(i)
		}
	case 3:
		if t.random.IntN(64) == 0 {
			t.lane = g.Lane()
		}
		n, err = t.each(t.lane.Next)
		last = &t.last[1]
	}
	return errors.Join(err, t.count.add(last, t.ids[:n]))
}

// each fills ids by one call for each.
func (t *taker) each(next func() (int64, error)) (n int, err error) {
	for n = range t.ids {
		if t.ids[n], err = next(); err != nil {
			return n, err
		}
	}
	return len(t.ids), nil
}

// add counts IDs in the order in which a goroutine took them from the stream or from lanes; last
// is the ID before.
func (c *count) add(last *int64, ids []int64) error {
	for _, id := range ids {
		if id <= *last {
			return fmt.Errorf("%w: %v after %v", errOrder, c.describe(id), c.describe(*last))
		}
		if id&c.mask != c.who {
			return fmt.Errorf("%w: %v, want worker ID %d", errForeign, c.describe(id), c.gen.WorkerID())
		}
		*last = id
	}
	if again := c.seen.Add(ids...); len(again) > 0 {
		return fmt.Errorf("%w: %v was issued before", errDuplicate, c.describe(again[0]))
	}
	c.taken.Add(int64(len(ids)))
	return nil
}

// describe returns the fields of an ID, or the ID if it has none.
func (c *count) describe(id int64) any {
	if f, err := c.gen.Parse(id); err == nil {
		return f
	}
	return id
}

// A soak is the result of the command soak.
type soak struct {
	report.Facts
	*count
	put, retired, left int64
}

func soakCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	ids := flags.Int64("ids", 1_000_000_000, "`IDs` to take, at least")
	return func(ctx context.Context, w io.Writer) error {
		s := new(soak)
		if err := s.run(ctx, commandLine(flags), *ids); err != nil {
			return err
		}
		return show(w, s.print)
	}
}

// run takes IDs from one generator in all ways and counts each. At the end every ID that was put
// into the ring must have been issued, retired, or still be there.
func (s *soak) run(ctx context.Context, command string, ids int64) (err error) {
	s.Facts = report.NewFacts(command)
	var blocks atomic.Int64
	cfg := cached.Config{Layout: bitsalloc.Default(), Assigner: assigner.Static(1), AllowReuse: true} // the IDs are not kept
	cfg.Trace.Padded = func(i cached.PaddedInfo) { blocks.Add(int64(i.Blocks)) }
	gen, err := cached.NewContext(ctx, cfg)
	if err != nil {
		return err
	}
	s.count = &count{layout: cfg.Layout, gen: gen, goroutines: 8, target: ids}
	if err := errors.Join(s.count.run(ctx), gen.Close()); err != nil { // Close waits for the last call of Padded
		return err
	}
	stats := gen.Stats()
	s.put, s.retired, s.left = blocks.Load()<<cfg.Layout.SequenceBits, stats.Retired, int64(stats.Remaining)
	if s.put != stats.Issued+s.retired+s.left {
		return fmt.Errorf("%w: %d IDs put, %d issued, %d retired, %d left", errMiscount, s.put, stats.Issued, s.retired, s.left)
	}
	return nil
}

func (s *soak) print(p *report.Page) {
	p.Facts(s.Facts)
	p.Text("%s took IDs from one generator by Next, Fill, Reserve and Lane, at random; each ID was counted in a bitmap:\n"+
		"%s IDs, 0 duplicates, %s. All %s IDs put into the ring were issued or reserved by lanes, retired (%s) or remained (%s).",
		report.Goroutines(s.goroutines), report.Comma(s.taken.Load()), report.Ns(float64(s.wall)), report.Comma(s.put), report.Comma(s.retired), report.Comma(s.left))
}
