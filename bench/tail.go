package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/cached"
)

// tailSettings are the flags of tail.
type tailSettings struct {
	output
	row   time.Duration
	rate  int64
	quick bool
}

func newTail(s *tailSettings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Time single calls up to p99.999, and find the library's share of the tail",
		Long: "tail times single calls of Next, beside an atomic add, an empty call and the clock alone, and shows how much of\n" +
			"the tail is not the library's. Nothing is subtracted from the times.",
		Example: "  go run ./bench tail\n" +
			"  go run ./bench tail --for 20s --rate 1000000",
	}
	add(cmd, &s.row, "for", "D", "", "time for each row (default 2s, with --quick 250ms)", duration(10*time.Millisecond))
	add(cmd, &s.rate, "rate", "N", "100000", "calls per second of the paced rows, all goroutines together", number[int64](1000, 1_000_000_000))
	cmd.Flags().BoolVar(&s.quick, "quick", false, "less time for each row")
	measures(&s.output, cmd, s.measure)
	return cmd
}

// share is the time of a row in a round.
func (s *tailSettings) share() time.Duration {
	return pick(s.quick, s.row, 2*time.Second, 250*time.Millisecond) / rounds
}

// A tailReport is the result of tail.
type tailReport struct {
	report.Facts
	RowSeconds float64   `json:"row_seconds" jsonschema:"time for each row"`
	Rows       []tailRow `json:"rows"`
}

// measure times the calls.
func (s *tailSettings) measure(ctx context.Context, p *report.Progress) (r tailReport, err error) {
	r = tailReport{Facts: s.facts(), RowSeconds: (s.share() * rounds).Seconds()}
	calls, closeAll, err := openCalls(1)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	t := tailer{tails: tails(calls, float64(s.rate)), rounds: rounds, share: s.share()}
	err = p.Show("timing single calls", int64(len(t.tails)*t.rounds), t.done.Load, func() (err error) {
		r.Rows, err = t.measure(ctx)
		return err
	})
	return r, err
}

// The calls to compare. The first two show the cost of timing: two readings of the clock, and the
// call of a func between them.
const (
	callClock = "the clock alone"
	callEmpty = "an empty call"
	callAdd   = contestants.AtomicAddName
	callNext  = "Next, ordered"
	callLanes = "Next, lanes"
)

// A call has a name. Its open func returns the Call of a goroutine; nil: the clock alone.
type call struct {
	name string
	open func() (load.Call, func())
}

// openCalls makes generators with the default settings and worker IDs from the given one on.
func openCalls(worker int64) (calls []call, closeAll func() error, err error) {
	var gens []*cached.Generator
	closeAll = func() (err error) {
		for _, gen := range gens {
			err = errors.Join(err, gen.Close())
		}
		return err
	}
	for i, lanes := range []int{1, cached.LanePerCPU} {
		gen, err := cached.New(cached.Config{
			Epoch:      time.Now().Truncate(24 * time.Hour), // the layout has not ended
			Assigner:   assigner.Static(worker + int64(i)),
			AllowReuse: true, // the IDs are not kept
			Lanes:      lanes,
		})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		gens = append(gens, gen)
	}
	all := func(c load.Call) func() (load.Call, func()) {
		return func() (load.Call, func()) { return c, func() {} }
	}
	add, _ := contestants.AtomicAdd().Join()
	return []call{
		{callClock, nil},
		{callEmpty, all(func() (int64, error) { return 0, nil })},
		{callAdd, all(func() (int64, error) { return add(1) })},
		{callNext, all(gens[0].Next)},
		{callLanes, all(gens[1].Next)},
	}, closeAll, nil
}

// A tailRow is the latency of single calls. The times include reading the clock.
type tailRow struct {
	Call        string  `json:"call"`
	Pressure    string  `json:"pressure"`
	Goroutines  int     `json:"goroutines"`
	Rate        float64 `json:"rate_per_second" jsonschema:"0: flat out"`
	Samples     int64   `json:"samples"`
	OneOf       int     `json:"one_of" jsonschema:"one of how many calls was timed"`
	P50Ns       int64   `json:"p50_ns"`
	P90Ns       int64   `json:"p90_ns"`
	P99Ns       int64   `json:"p99_ns"`
	P999Ns      int64   `json:"p99_9_ns"`
	P9999Ns     int64   `json:"p99_99_ns" jsonschema:"0: too few samples"`
	P99999Ns    int64   `json:"p99_999_ns" jsonschema:"0: too few samples"`
	MaxNs       int64   `json:"max_ns"`
	Slow        float64 `json:"slow_per_million" jsonschema:"samples over a microsecond"`
	SlowEmpty   float64 `json:"slow_empty_per_million" jsonschema:"the same of an empty call: the share of the machine and the scheduler"`
	SlowOwn     float64 `json:"slow_own_per_million" jsonschema:"the difference"`
	Collections int64   `json:"collections,omitempty" jsonschema:"of garbage, while the call was timed"`
}

// slow is the bound for p99.99 of a call that the scheduler does not interrupt.
const slow = time.Microsecond

// A tail gathers the samples of one row.
type tail struct {
	call        call
	load        load.Load
	pressure    string
	histogram   *hdrhistogram.Histogram
	collections int64
}

// tails returns the rows: each call flat out on one goroutine and on all CPUs, and paced on all
// CPUs, under each pressure.
func tails(calls []call, rate float64) (list []*tail) {
	all := runtime.GOMAXPROCS(0)
	loads := []load.Load{{Goroutines: 1}, {Goroutines: all}, {Goroutines: all, Rate: rate}}
	if all == 1 {
		loads = loads[1:]
	}
	for _, pressure := range pressures() {
		for _, l := range loads {
			for _, call := range calls {
				list = append(list, &tail{call, l, pressure, load.NewHistogram(), 0})
			}
		}
	}
	return list
}

// A tailer times calls.
type tailer struct {
	tails  []*tail
	rounds int
	share  time.Duration // of a row in a round
	done   atomic.Int64  // rows and rounds
}

// measure times all calls, in turns under each pressure.
func (t *tailer) measure(ctx context.Context) ([]tailRow, error) {
	for _, pressure := range pressures() {
		if err := t.underPressure(ctx, pressure); err != nil {
			return nil, err
		}
	}
	return tailRows(t.tails), nil
}

func (t *tailer) underPressure(ctx context.Context, pressure string) error {
	defer startPressure(pressure)()
	for range t.rounds {
		for _, r := range t.tails {
			if r.pressure != pressure {
				continue
			}
			before := memStats().NumGC
			_, err := r.load.Sample(ctx, t.share, r.call.open, r.histogram)
			if err != nil && !errors.Is(err, load.ErrNoID) {
				return fmt.Errorf("%s, %s: %w", r.call.name, r.pressure, err)
			}
			r.collections += int64(memStats().NumGC - before)
			t.done.Add(1)
		}
	}
	return nil
}

// tailRows turns tails into rows, and compares each with the empty call of the same pressure and
// load.
func tailRows(list []*tail) []tailRow {
	rows := make([]tailRow, len(list))
	for i, t := range list {
		rows[i] = t.row()
	}
	for i := range rows {
		r := &rows[i]
		for _, other := range rows {
			if other.Call == callEmpty && other.conditions() == r.conditions() {
				r.SlowEmpty = other.Slow
			}
		}
		r.SlowOwn = max(0, r.Slow-r.SlowEmpty)
	}
	return rows
}

func (t *tail) row() tailRow {
	h := t.histogram
	return tailRow{
		Call:        t.call.name,
		Pressure:    t.pressure,
		Goroutines:  t.load.Goroutines,
		Rate:        t.load.Rate,
		Samples:     h.TotalCount(),
		OneOf:       t.load.OneOf(),
		P50Ns:       h.ValueAtPercentile(50),
		P90Ns:       h.ValueAtPercentile(90),
		P99Ns:       h.ValueAtPercentile(99),
		P999Ns:      h.ValueAtPercentile(99.9),
		P9999Ns:     farPercentile(h, 99.99),
		P99999Ns:    farPercentile(h, 99.999),
		MaxNs:       h.Max(),
		Slow:        perMillionOver(h, slow),
		Collections: t.collections,
	}
}

// farPercentile returns a percentile, or 0 if fewer than ten samples are beyond it: they prove
// nothing.
func farPercentile(h *hdrhistogram.Histogram, percentile float64) int64 {
	if beyond := float64(h.TotalCount()) * (100 - percentile) / 100; math.Round(beyond) < 10 {
		return 0
	}
	return h.ValueAtPercentile(percentile)
}

// perMillionOver returns how many samples in a million took longer than d.
func perMillionOver(h *hdrhistogram.Histogram, d time.Duration) float64 {
	if h.TotalCount() == 0 {
		return 0
	}
	over := int64(0)
	for _, bar := range h.Distribution() {
		if bar.From > d.Nanoseconds() {
			over += bar.Count
		}
	}
	return float64(over) / float64(h.TotalCount()) * 1e6
}

// The pressures: other work of the program while calls are timed.
const (
	pressureNone = "nothing else"
	pressureCPU  = "CPU load" // two goroutines for each CPU that only compute
	pressureGC   = "GC load"  // one goroutine that allocates without a pause
)

func pressures() []string { return []string{pressureNone, pressureCPU, pressureGC} }

// startPressure starts a pressure; the func that it returns ends it.
func startPressure(name string) (end func()) {
	var stop atomic.Bool
	var group sync.WaitGroup
	switch name {
	case pressureCPU:
		for range 2 * runtime.GOMAXPROCS(0) {
			group.Go(func() { compute(&stop) })
		}
	case pressureGC:
		group.Go(func() { allocate(&stop) })
	}
	return func() {
		stop.Store(true)
		group.Wait()
	}
}

// compute keeps a CPU busy without touching shared memory.
func compute(stop *atomic.Bool) (x uint64) {
	for x = 1; !stop.Load(); {
		for range 1 << 12 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	}
	return x
}

// allocate allocates, and keeps a heap of about 32 MiB with pointers for the collector to follow.
func allocate(stop *atomic.Bool) {
	type leaf [96]byte
	type node struct {
		child *leaf
		_     [24]byte
	}
	nodes := make([]*node, 1<<18)
	for i := 0; !stop.Load(); i++ {
		nodes[i&(len(nodes)-1)] = &node{child: new(leaf)}
	}
}

func (r tailReport) print(p *report.Page) {
	p.Facts(r.Facts, "tail.csv")
	p.Picture("tail.svg", curvesAlt)
	p.Text(`%s for each row. The times include reading the clock twice: the first call. After max: samples in a million over %s;
the same of an empty call under the same conditions, which is the share of the scheduler and the machine; and the
difference, the share of the call itself.`, report.Elapsed(r.RowSeconds), report.Whole(slow.Nanoseconds()))
	if p.Markdown { // the picture has the rest
		next := slices.DeleteFunc(slices.Clone(r.Rows), func(row tailRow) bool { return row.Call != callNext && row.Call != callLanes })
		p.Table(tailTable("", next, func(row tailRow) string { return row.Call + ", " + row.conditions() }))
		return
	}
	for _, rows := range r.groups() {
		fmt.Fprintln(p)
		p.Table(tailTable(rows[0].conditions(), rows, func(row tailRow) string { return row.Call }))
	}
}

// groups returns the rows by their conditions.
func (r tailReport) groups() (groups [][]tailRow) {
	for i, row := range r.Rows {
		if i == 0 || row.conditions() != r.Rows[i-1].conditions() {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], row)
	}
	return groups
}

// conditions names the load and the pressure of a row.
func (r tailRow) conditions() string { return r.speed() + ", beside " + r.Pressure }

// speed names the load of a row.
func (r tailRow) speed() string {
	if r.Rate > 0 {
		return report.Goroutines(r.Goroutines) + ", " + report.Comma(int64(r.Rate)) + "/s"
	}
	return report.Goroutines(r.Goroutines) + ", flat out"
}

// percentiles are the columns of a latency; one call in oneIn takes longer.
var percentiles = []struct {
	oneIn float64
	label string
	value func(tailRow) int64
}{
	{2, "50", func(r tailRow) int64 { return r.P50Ns }},
	{10, "90", func(r tailRow) int64 { return r.P90Ns }},
	{100, "99", func(r tailRow) int64 { return r.P99Ns }},
	{1000, "99.9", func(r tailRow) int64 { return r.P999Ns }},
	{10_000, "99.99", func(r tailRow) int64 { return r.P9999Ns }},
	{100_000, "99.999", func(r tailRow) int64 { return r.P99999Ns }},
}

func tailTable(title string, rows []tailRow, label func(tailRow) string) *report.Table {
	t := report.NewTable(title, "samples")
	for _, p := range percentiles {
		t.Head = append(t.Head, "p"+p.label)
	}
	over := "over " + report.Whole(slow.Nanoseconds())
	t.Head = append(t.Head, "max", over, "of the empty call", "own", "timed", "collections")
	for _, r := range rows {
		line := []string{label(r), report.Comma(r.Samples)}
		for _, p := range percentiles {
			cell := report.None // too few samples
			if value := p.value(r); value > 0 {
				cell = report.Timed(value)
			}
			line = append(line, cell)
		}
		t.Add(append(line, report.Whole(r.MaxNs), report.Significant(r.Slow), report.Significant(min(r.Slow, r.SlowEmpty)),
			report.Significant(r.SlowOwn), fmt.Sprintf("1 in %d", r.OneOf), report.Comma(r.Collections))...)
	}
	return t
}
