package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/cached"
)

// A sweepRow is what was found out about a cell. Counts are of all rounds together; ns are wall time over all goroutines.
type sweepRow struct {
	Sweep        string  `json:"sweep"`
	Boost        int     `json:"boost"`
	Padding      int     `json:"padding"`
	OnEmpty      string  `json:"onEmpty"`
	Goroutines   int     `json:"goroutines"`
	Lanes        int     `json:"lanes"` // -1: one for each CPU
	SequenceBits int     `json:"sequenceBits"`
	Layout       string  `json:"layout"`
	IDs          int64   `json:"ids"`
	NsPerID      float64 `json:"nsPerID"` // median of the rounds, as are AtomicAddNs and Ratio
	AtomicAddNs  float64 `json:"atomicAddNs"`
	Ratio        float64 `json:"ratio"` // of the two in the same round
	RatioLow     float64 `json:"ratioLow"`
	RatioHigh    float64 `json:"ratioHigh"`
	Rejected     int64   `json:"rejected"`     // takes
	InlinePads   int64   `json:"inlinePads"`   // runs
	P9999Ns      int64   `json:"p9999ns"`      // of single calls, without the clock's share
	AheadSeconds float64 `json:"aheadSeconds"` // ID time less the clock when a round ends, median
	IDTimeRate   float64 `json:"idTimeRate"`   // seconds of ID time used up in a second
}

// A sweeper measures cells.
type sweeper struct {
	cells  []cell
	rounds int
	share  time.Duration // of a cell in a round

	worker int64        // of the latest generator
	done   atomic.Int64 // cells and rounds
}

// run takes all cells in turn, and that again and again, each time in another order, so that what disturbs the machine
// for a while does not fall on one cell alone.
func (s *sweeper) run(ctx context.Context) ([]sweepRow, error) {
	trials := make([]*trial, len(s.cells))
	for i, c := range s.cells {
		trials[i] = &trial{cell: c, calls: hdrhistogram.New(1, longest.Nanoseconds(), 3)}
	}
	for round := range s.rounds {
		for _, i := range rand.New(rand.NewPCG(1, uint64(round))).Perm(len(trials)) {
			if err := s.measure(ctx, trials[i]); err != nil {
				return nil, fmt.Errorf("%v: %w", trials[i].cell, err)
			}
			s.done.Add(1)
		}
	}
	rows := make([]sweepRow, len(trials))
	for i, t := range trials {
		rows[i] = t.row()
	}
	return rows, nil
}

// measure runs one round of a trial. Where the machine was busy elsewhere and it got no ID at all, it tries again.
func (s *sweeper) measure(ctx context.Context, t *trial) (err error) {
	for range 5 {
		s.worker++
		if err = t.round(ctx, s.worker, s.share); !errors.Is(err, errNoID) {
			break
		}
	}
	return err
}

// A trial gathers what the rounds of one cell show.
type trial struct {
	cell                      cell
	column                    column
	ids, rejected, inlinePads int64
	idTime, wall              time.Duration
	aheads                    []float64 // seconds
	calls                     *hdrhistogram.Histogram
	clock                     time.Duration
}

// round measures the cell once, with a generator of its own: a quarter of its share goes to the baseline, a half to the
// throughput, a quarter to timing single calls.
func (t *trial) round(ctx context.Context, worker int64, share time.Duration) (err error) {
	gen, err := cached.NewContext(ctx, t.cell.config(worker))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	if err := warmUp(gen); err != nil {
		return err
	}
	adds, err := runLap(ctx, t.cell.goroutines, share/4, atomicAdds())
	if err != nil {
		return err
	}
	l := load{gen: gen, goroutines: t.cell.goroutines}
	before := gen.Stats()
	takes, err := runLap(ctx, t.cell.goroutines, share/2, l.work())
	if err != nil {
		return err
	}
	after := gen.Stats()
	calls, err := timeCalls(ctx, l, share/4)
	if err != nil {
		return err
	}
	t.add(adds, takes, before, after)
	t.calls.Merge(calls.histogram)
	t.clock = calls.clock
	return nil
}

// warmUp takes as many IDs as the ring holds: the first ones were put before anybody was waiting.
func warmUp(gen *cached.Generator) error {
	dst := make([]int64, 4096)
	for left := gen.Stats().Capacity; left > 0; {
		n, err := gen.Fill(dst[:min(left, len(dst))])
		if err := retry(err); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// add adds what one round has shown.
func (t *trial) add(adds, takes lap, before, after cached.Stats) {
	t.column.adds = append(t.column.adds, adds.nsPerID())
	t.column.takes = append(t.column.takes, takes.nsPerID())
	t.ids += takes.ids
	t.wall += takes.wall
	t.rejected += after.RejectedTakes - before.RejectedTakes
	t.inlinePads += after.InlinePads - before.InlinePads
	t.idTime += time.Duration(after.LastDelta-before.LastDelta) * time.Second // the unit of all cells
	t.aheads = append(t.aheads, after.Ahead.Seconds())
}

func (t *trial) row() sweepRow {
	c := t.cell
	ratios := t.column.ratios()
	return sweepRow{
		Sweep:        c.sweep,
		Boost:        c.boost,
		Padding:      c.padding,
		OnEmpty:      c.onEmpty,
		Goroutines:   c.goroutines,
		Lanes:        c.lanes,
		SequenceBits: int(c.layout.SequenceBits),
		Layout:       c.layout.String(),
		IDs:          t.ids,
		NsPerID:      median(t.column.takes),
		AtomicAddNs:  median(t.column.adds),
		Ratio:        median(ratios),
		RatioLow:     slices.Min(ratios),
		RatioHigh:    slices.Max(ratios),
		Rejected:     t.rejected,
		InlinePads:   t.inlinePads,
		P9999Ns:      latencyRun{histogram: t.calls, clock: t.clock}.at(99.99).Nanoseconds(),
		AheadSeconds: median(t.aheads),
		IDTimeRate:   t.idTime.Seconds() / t.wall.Seconds(),
	}
}
