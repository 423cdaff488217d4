package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// sweepSettings are the flags of sweep.
type sweepSettings struct {
	output
	only  []string
	cell  time.Duration
	quick bool
}

func newSweep(s *sweepSettings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Measure Next with many settings: which settings matter",
		Long: "sweep measures Next with many settings, each in turns with an atomic add: time per ID, rejected takes, blocks\n" +
			"that callers had to put themselves, tail latency, and how far ID time gets from the clock. The sweeps are\n\n" +
			"  ring        boost power × padding factor × on empty, on one goroutine and on all CPUs\n" +
			"  goroutines  1 to 1024, one ordered stream and lanes\n" +
			"  sequence    0 to 20 sequence bits\n" +
			"  delta       25 to 32 delta bits, 20 worker bits\n" +
			"  worker      20 to 29 worker bits, 31 delta bits\n" +
			"  consumers   1 to 8 goroutines, layout 31/0/23/9",
		Example: "  go run ./bench sweep\n" +
			"  go run ./bench sweep --only ring,goroutines --cell 2s",
	}
	s.only = sweepNames()
	add(cmd, &s.only, "only", "LIST", "", "sweeps, separated by commas (default all)", several(sweepNames()))
	add(cmd, &s.cell, "cell", "D", "", "time for each setting (default 1s, with --quick 300ms)", duration(10*time.Millisecond))
	cmd.Flags().BoolVar(&s.quick, "quick", false, "fewer settings, and less time for each")
	measures(&s.output, cmd, s.measure)
	return cmd
}

// share is the time of a cell in a round.
func (s *sweepSettings) share() time.Duration {
	return pick(s.quick, s.cell, time.Second, 300*time.Millisecond) / rounds
}

// A sweepReport is the result of sweep.
type sweepReport struct {
	report.Facts
	Rounds      int        `json:"rounds"`
	CellSeconds float64    `json:"cell_seconds" jsonschema:"time for each row"`
	Rows        []sweepRow `json:"rows"`
}

// measure runs the sweeps.
func (s *sweepSettings) measure(ctx context.Context, p *report.Progress) (sweepReport, error) {
	w := sweeper{cells: sweepCells(s.only, s.quick), rounds: rounds, share: s.share()}
	r := sweepReport{Facts: s.facts(), Rounds: w.rounds, CellSeconds: (w.share * rounds).Seconds()}
	err := p.Show(strings.Join(s.only, ", "), int64(len(w.cells)*w.rounds), w.done.Load, func() (err error) {
		r.Rows, err = w.run(ctx)
		return err
	})
	return r, err
}

// The sweeps, by the settings that they vary. The last three are in the README of Baidu's
// UidGenerator.
const (
	sweepRing       = "ring"       // boost power, padding factor, on empty
	sweepGoroutines = "goroutines" // and lanes
	sweepSequence   = "sequence"   // sequence bits
	sweepDelta      = "delta"      // delta bits 25 to 32 with 20 worker bits
	sweepWorker     = "worker"     // worker bits 20 to 29 with 31 delta bits
	sweepConsumers  = "consumers"  // 1 to 8 goroutines, 31/23/9
)

// sweepNames returns all sweeps in the order of the tables.
func sweepNames() []string {
	return []string{sweepRing, sweepGoroutines, sweepSequence, sweepDelta, sweepWorker, sweepConsumers}
}

// A cell is one setting of a sweep.
type cell struct {
	sweep          string
	layout         bitsalloc.Layout
	boost, padding int
	onEmpty        string // pad or reject
	goroutines     int
	lanes          int
}

// plainCell has the defaults of the library, on all CPUs.
func plainCell(sweep string) cell {
	return cell{sweep, bitsalloc.Default(), 3, 50, "pad", runtime.GOMAXPROCS(0), 1}
}

// sweepCells returns the cells of the sweeps with these names; quick, fewer of them.
func sweepCells(names []string, quick bool) (cells []cell) {
	for _, name := range names {
		switch name {
		case sweepRing:
			cells = append(cells, ringCells(quick)...)
		case sweepGoroutines:
			for _, lanes := range []int{1, cached.LanePerCPU} {
				cells = append(cells, vary(name, quick, []int{1, 2, 8, 64, 1024}, []int{1, 8, 64}, func(c *cell, n int) { c.goroutines, c.lanes = n, lanes })...)
			}
		case sweepSequence:
			cells = append(cells, vary(name, quick, []int{0, 2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20}, []int{4, 8, 13, 18}, layout(func(n int) (int, int, int) { return 47 - n, 16, n }))...)
		case sweepDelta:
			cells = append(cells, vary(name, quick, []int{25, 26, 27, 28, 29, 30, 31, 32}, []int{25, 28, 32}, layout(func(n int) (int, int, int) { return n, 20, 43 - n }))...)
		case sweepWorker:
			cells = append(cells, vary(name, quick, []int{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}, []int{20, 25, 29}, layout(func(n int) (int, int, int) { return 31, n, 32 - n }))...)
		case sweepConsumers:
			cells = append(cells, vary(name, quick, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 8}, func(c *cell, n int) {
				layout(func(int) (int, int, int) { return 31, 23, 9 })(c, n)
				c.goroutines = n
			})...)
		}
	}
	return cells
}

// layout returns a func that sets the layout of a cell to the widths of delta, worker and sequence.
func layout(widths func(n int) (delta, worker, sequence int)) func(c *cell, n int) {
	return func(c *cell, n int) {
		delta, worker, sequence := widths(n)
		c.layout = bitsalloc.Layout{DeltaBits: uint8(delta), WorkerBits: uint8(worker), SequenceBits: uint8(sequence), Unit: time.Second}
	}
}

// vary returns a plain cell, changed by set, for each of values; quick, for each of few.
func vary(sweep string, quick bool, values, few []int, set func(c *cell, value int)) (cells []cell) {
	if quick {
		values = few
	}
	for _, value := range values {
		c := plainCell(sweep)
		set(&c, value)
		cells = append(cells, c)
	}
	return cells
}

func ringCells(quick bool) (cells []cell) {
	boosts, paddings := []int{1, 2, 3, 4, 5, 6, 8}, []int{1, 10, 25, 50, 75, 90, 99}
	crowds := distinct([]int{1, runtime.GOMAXPROCS(0)})
	if quick {
		boosts, paddings, crowds = []int{1, 3, 6}, []int{10, 50, 90}, crowds[len(crowds)-1:]
	}
	for _, onEmpty := range []string{"pad", "reject"} {
		for _, goroutines := range crowds {
			for _, boost := range boosts {
				for _, padding := range paddings {
					c := plainCell(sweepRing)
					c.onEmpty, c.goroutines, c.boost, c.padding = onEmpty, goroutines, boost, padding
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}

// String names the cell in an error text.
func (c cell) String() string {
	return fmt.Sprintf("sweep %s: layout %v, boost power %d, padding factor %d, on empty %s, %s, lanes %d",
		c.sweep, c.layout, c.boost, c.padding, c.onEmpty, report.Goroutines(c.goroutines), c.lanes)
}

// config returns the Config of the cell's generator. Each generator has its own worker ID: a worker
// ID that is used again continues ahead of the clock. The epoch is today, so that no layout has
// ended.
func (c cell) config(worker int64) cached.Config {
	return cached.Config{
		Layout:        c.layout,
		Epoch:         time.Now().Truncate(24 * time.Hour),
		Assigner:      assigner.Static(worker),
		AllowReuse:    true, // the IDs are not kept
		BoostPower:    c.boost,
		PaddingFactor: c.padding,
		OnEmpty:       emptyPolicy(c.onEmpty),
		Lanes:         c.lanes,
	}
}

// A sweepRow is the result of a cell. Counts are sums over all rounds.
type sweepRow struct {
	Sweep        string  `json:"sweep"`
	Boost        int     `json:"boost"`
	Padding      int     `json:"padding"`
	OnEmpty      string  `json:"on_empty"`
	Goroutines   int     `json:"goroutines"`
	Lanes        int     `json:"lanes" jsonschema:"-1: one for each CPU"`
	SequenceBits int     `json:"sequence_bits"`
	Layout       string  `json:"layout"`
	IDs          int64   `json:"ids"`
	NsPerID      float64 `json:"ns_per_id" jsonschema:"wall time, all goroutines together; median of the rounds, as are atomic_add_ns and ratio"`
	AtomicAddNs  float64 `json:"atomic_add_ns"`
	Ratio        float64 `json:"ratio" jsonschema:"of these two in the same round"`
	RatioLow     float64 `json:"ratio_low"`
	RatioHigh    float64 `json:"ratio_high"`
	Rejected     int64   `json:"rejected" jsonschema:"takes, each made again"`
	InlinePads   int64   `json:"inline_pads" jsonschema:"blocks put by callers"`
	P9999Ns      int64   `json:"p99_99_ns" jsonschema:"of single calls, reading the clock included"`
	AheadSeconds float64 `json:"ahead_seconds" jsonschema:"ID time less the clock at the end of a round, median"`
	IDTimeRate   float64 `json:"id_time_rate" jsonschema:"seconds of ID time used in a second"`
}

// A sweeper measures cells.
type sweeper struct {
	cells  []cell
	rounds int
	share  time.Duration // of a cell in a round

	worker int64        // of the latest generator
	done   atomic.Int64 // cells and rounds
}

// run measures all cells in each round, in random order, so that a disturbance of the machine does
// not hit a single cell.
func (s *sweeper) run(ctx context.Context) ([]sweepRow, error) {
	trials := make([]*trial, len(s.cells))
	for i, c := range s.cells {
		trials[i] = &trial{cell: c, calls: load.NewHistogram()}
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

// measure runs one round of a trial. It tries again if the machine was too busy for a single ID.
func (s *sweeper) measure(ctx context.Context, t *trial) (err error) {
	for range 5 {
		s.worker++
		if err = t.round(ctx, s.worker, s.share); !errors.Is(err, load.ErrNoID) {
			break
		}
	}
	return err
}

// A trial gathers the rounds of one cell.
type trial struct {
	cell                      cell
	column                    column
	ids, rejected, inlinePads int64
	idTime, wall              time.Duration
	aheads                    []float64 // seconds
	calls                     *hdrhistogram.Histogram
}

// round measures the cell once, with a new generator: a quarter of its share goes to the baseline,
// a half to the throughput, a quarter to timing single calls.
func (t *trial) round(ctx context.Context, worker int64, share time.Duration) (err error) {
	gen, err := cached.NewContext(ctx, t.cell.config(worker))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	l, source := load.Load{Goroutines: t.cell.goroutines}, load.Cached(gen, load.Load{})
	if err := warmUp(gen); err != nil {
		return err
	}
	adds, err := l.Run(ctx, contestants.AtomicAdd(), share/4)
	if err != nil {
		return err
	}
	before := gen.Stats()
	takes, err := l.Run(ctx, source, share/2)
	if err != nil {
		return err
	}
	after := gen.Stats()
	if _, err := l.Sample(ctx, share/4, load.Calls(gen, l), t.calls); err != nil {
		return err
	}
	t.add(adds, takes, before, after)
	return nil
}

// warmUp takes the IDs that the ring held at the start, which were put without any contention.
func warmUp(gen *cached.Generator) error {
	take, _ := load.Cached(gen, load.Load{Batch: 4096}).Join()
	_, err := take(gen.Stats().Capacity)
	return err
}

// add adds the results of a round.
func (t *trial) add(adds, takes load.Lap, before, after cached.Stats) {
	t.column.adds = append(t.column.adds, adds.WallNs())
	t.column.takes = append(t.column.takes, takes.WallNs())
	t.ids += takes.Total()
	t.wall += takes.Wall
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
		NsPerID:      report.Median(t.column.takes),
		AtomicAddNs:  report.Median(t.column.adds),
		Ratio:        report.Median(ratios),
		RatioLow:     slices.Min(ratios),
		RatioHigh:    slices.Max(ratios),
		Rejected:     t.rejected,
		InlinePads:   t.inlinePads,
		P9999Ns:      t.calls.ValueAtPercentile(99.99),
		AheadSeconds: report.Median(t.aheads),
		IDTimeRate:   t.idTime.Seconds() / t.wall.Seconds(),
	}
}

// of returns the rows of a sweep.
func (r sweepReport) of(name string) []sweepRow {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row sweepRow) bool { return row.Sweep != name })
}

func (r sweepReport) print(p *report.Page) {
	p.Facts(r.Facts, "sweep.csv")
	p.Picture("ring_throughput.svg", ratiosAlt)
	p.Picture("ring_tail.svg", tailsAlt)
	p.Text("%s for each setting in %d rounds, each in turns with an atomic add; ns are wall time, all goroutines together.\n"+
		"p99.99 is of single calls, reading the clock included.",
		report.Elapsed(r.CellSeconds), r.Rounds)
	for _, plane := range planes(r.of(sweepRing)) {
		plane.print(p)
	}
	p.Picture("layouts.svg", layoutsAlt)
	titles := map[string]string{
		sweepGoroutines: "Goroutines and lanes",
		sweepSequence:   "Sequence bits, 16 worker bits",
		sweepDelta:      "Delta bits, 20 worker bits",
		sweepWorker:     "Worker bits, 31 delta bits",
		sweepConsumers:  "Consumers, layout 31/0/23/9",
	}
	for _, name := range sweepNames()[1:] {
		rows := r.of(name)
		if len(rows) == 0 {
			continue
		}
		p.Title("%s", titles[name])
		t := report.NewTable("", "ns per ID", "atomic add", "ratio", "low-high", "inline pads", "p99.99", "ID time per s", "ahead")
		for _, r := range rows {
			t.Add(r.label(), report.Ns(r.NsPerID), report.Ns(r.AtomicAddNs), report.Times(r.Ratio), fmt.Sprintf("%.2f-%.2f", r.RatioLow, r.RatioHigh),
				report.Comma(r.InlinePads), report.Ns(float64(r.P9999Ns)), report.Span(r.IDTimeRate), report.Span(r.AheadSeconds))
		}
		p.Table(t)
	}
}

// A plane is the part of a ring sweep that fits a heat map: its rows differ in boost power and
// padding factor only.
type plane struct {
	onEmpty    string
	goroutines int
	rows       []sweepRow
}

// planes splits the rows of a ring sweep into planes.
func planes(rows []sweepRow) (list []plane) {
	for _, row := range rows {
		i := slices.IndexFunc(list, func(p plane) bool { return p.onEmpty == row.OnEmpty && p.goroutines == row.Goroutines })
		if i < 0 {
			i = len(list)
			list = append(list, plane{onEmpty: row.OnEmpty, goroutines: row.Goroutines})
		}
		list[i].rows = append(list[i].rows, row)
	}
	return list
}

// axes returns the boost powers and padding factors of the plane.
func (p plane) axes() (boosts, paddings []int) {
	for _, row := range p.rows {
		boosts, paddings = append(boosts, row.Boost), append(paddings, row.Padding)
	}
	return distinct(boosts), distinct(paddings)
}

// verdict tells whether boost power and padding factor change the time per ID: a range of medians
// that is no wider than the range of one setting over the rounds is noise.
func (p plane) verdict() string {
	fastest := slices.MinFunc(p.rows, func(a, b sweepRow) int { return cmp.Compare(a.Ratio, b.Ratio) })
	slowest := slices.MaxFunc(p.rows, func(a, b sweepRow) int { return cmp.Compare(a.Ratio, b.Ratio) })
	noise := report.Median(values(p.rows, func(r sweepRow) float64 { return r.RatioHigh - r.RatioLow }))
	text := fmt.Sprintf("%.2f × to %.2f × over %d settings; one setting alone differs by %.2f × from round to round: ",
		fastest.Ratio, slowest.Ratio, len(p.rows), noise)
	if slowest.Ratio-fastest.Ratio <= noise {
		return text + "no difference beyond that"
	}
	return text + fmt.Sprintf("slowest at boost power %d, padding factor %d", slowest.Boost, slowest.Padding)
}

// print prints the plane as heat maps in figures; a Markdown page has pictures instead.
func (p plane) print(out *report.Page) {
	title := fmt.Sprintf("On empty %s, %s", p.onEmpty, report.Goroutines(p.goroutines))
	if out.Markdown {
		out.Text("%s: %s.", title, p.verdict())
		return
	}
	out.Title("%s", title)
	p.table(out, "ratio to the atomic add", func(r sweepRow) string { return fmt.Sprintf("%.2f", r.Ratio) })
	if p.onEmpty == "reject" {
		p.table(out, "rejected takes per million IDs", func(r sweepRow) string { return share(r.Rejected, r.IDs, 1e6) })
	} else {
		p.table(out, "blocks put by callers, per thousand blocks", func(r sweepRow) string { return share(r.InlinePads, r.IDs>>r.SequenceBits, 1000) })
	}
	p.table(out, "p99.99 of single calls, reading the clock included", func(r sweepRow) string { return report.Ns(float64(r.P9999Ns)) })
	p.table(out, "ID time ahead of the clock at the end of a round", func(r sweepRow) string { return report.Span(r.AheadSeconds) })
	out.Text("  %s", p.verdict())
}

// table prints a figure of each row: a line for each boost power, a column for each padding factor.
func (p plane) table(out *report.Page, title string, figure func(sweepRow) string) {
	boosts, paddings := p.axes()
	t := report.NewTable("boost \\ padding")
	for _, padding := range paddings {
		t.Head = append(t.Head, strconv.Itoa(padding)+" %")
	}
	for _, boost := range boosts {
		line := []string{strconv.Itoa(boost)}
		for _, padding := range paddings {
			i := slices.IndexFunc(p.rows, func(r sweepRow) bool { return r.Boost == boost && r.Padding == padding })
			line = append(line, figure(p.rows[i]))
		}
		t.Add(line...)
	}
	out.Text("  %s", title)
	out.Table(t)
}

// label names a row within its sweep.
func (r sweepRow) label() string {
	switch r.Sweep {
	case sweepGoroutines:
		if r.Lanes == 1 {
			return report.Goroutines(r.Goroutines)
		}
		return report.Goroutines(r.Goroutines) + ", lanes"
	case sweepConsumers:
		return report.Goroutines(r.Goroutines)
	default:
		return r.Layout
	}
}

// share writes n of total as parts of per; 0 if n is exactly 0.
func share(n, total int64, per float64) string {
	if n == 0 || total == 0 {
		return "0"
	}
	return report.Significant(float64(n) / float64(total) * per)
}
