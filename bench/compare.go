package main

import (
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

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
)

// compareSettings are the flags of compare.
type compareSettings struct {
	output
	rounds int
	lap    time.Duration
	many   []int // goroutines
	quick  bool
}

func newCompare(s *compareSettings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Measure this library beside other libraries and baselines",
		Long: "compare measures this library beside other libraries, and beside the parts that generators are built from.\n\n" +
			"In each round every contestant has one lap on 1 goroutine and one on all CPUs, in random order, so that\n" +
			"disturbances of the machine hit all contestants alike; this library and the baselines also run on more\n" +
			"goroutines. The figures are medians over the rounds. Ratios are to the atomic add of the same round, on one\n" +
			"goroutine. Contestants that the format of their IDs caps are marked: their time is the time of waiting.",
		Example: "  go run ./bench compare\n" +
			"  go run ./bench compare --rounds 9 --lap 250ms",
	}
	add(cmd, &s.rounds, "rounds", "N", "", "rounds (default 5, with --quick 3)", number(1, 1000))
	add(cmd, &s.lap, "lap", "D", "", "time of a lap (default 100ms, with --quick 20ms)", duration(time.Millisecond))
	add(cmd, &s.many, "goroutines", "LIST", "1,2,8,64,1024", "further numbers of goroutines, up to 65536 each", parseMany)
	cmd.Flags().BoolVar(&s.quick, "quick", false, "a first look in less than 20 s")
	measures(&s.output, cmd, s.measure)
	return cmd
}

func parseMany(text string) (many []int, err error) {
	const most = 1 << 16
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("allowed: whole numbers from 1 to %d, separated by commas", most)
		}
		many = append(many, n)
	}
	return many, nil
}

// measure runs the comparison.
func (s *compareSettings) measure(ctx context.Context, p *report.Progress) (comparison, error) {
	rounds, lap := pick(s.quick, s.rounds, 5, 3), pick(s.quick, s.lap, 100*time.Millisecond, 20*time.Millisecond)
	c := comparison{Facts: s.facts(), Rounds: rounds, LapMs: lap.Seconds() * 1e3}
	all := events(contestants.All(), runtime.GOMAXPROCS(0), s.many)
	var laps atomic.Int64
	err := p.Show("comparing", int64(rounds*len(all)), laps.Load, func() error {
		return hold(ctx, all, rounds, lap, func() { laps.Add(1) })
	})
	if err != nil {
		return c, err
	}
	c.Rows = compared(all)
	return c, nil
}

// pick returns the value of a flag, or its default if the flag was not given.
func pick[T comparable](quick bool, given, full, fast T) T {
	var zero T
	switch {
	case given != zero:
		return given
	case quick:
		return fast
	}
	return full
}

// An event is a contestant on a number of goroutines, with the lap of each round.
type event struct {
	contestant contestants.Contestant
	goroutines int
	laps       []load.Lap
}

// events returns the parts of a comparison: every contestant on 1 goroutine and on cpus, some also
// on many.
func events(list []contestants.Contestant, cpus int, many []int) (all []*event) {
	for _, c := range list {
		counts := []int{1, cpus}
		if c.Crowd {
			counts = append(counts, many...)
		}
		for _, n := range distinct(counts) {
			all = append(all, &event{contestant: c, goroutines: n})
		}
	}
	return all
}

func distinct(list []int) []int { return slices.Compact(slices.Sorted(slices.Values(list))) }

// hold runs the events in rounds. In each round every event has a lap of length d, in random order.
func hold(ctx context.Context, all []*event, rounds int, d time.Duration, tick func()) error {
	worker := int64(0)
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			e := all[i]
			if e.contestant.Open == nil {
				continue
			}
			worker++
			if err := e.run(ctx, d, worker); err != nil {
				return fmt.Errorf("%s: %w", e.contestant.Name, err)
			}
			tick()
		}
	}
	return nil
}

// run runs a lap. It is four times as long with very many goroutines, so that each runs several
// times.
func (e *event) run(ctx context.Context, d time.Duration, worker int64) error {
	src, err := e.contestant.Open(ctx, worker)
	if err != nil {
		return err
	}
	if e.goroutines > 100 {
		d *= 4
	}
	lap, err := load.Load{Goroutines: e.goroutines}.Run(ctx, src, d)
	e.laps = append(e.laps, lap)
	return errors.Join(err, src.Close())
}

// A comparison is the result of compare.
type comparison struct {
	report.Facts
	Rounds int           `json:"rounds"`
	LapMs  float64       `json:"lap_ms"`
	Rows   []comparedRow `json:"rows"`
}

// A comparedRow is a contestant on a number of goroutines: medians over the rounds. 0 stands
// for figures that were not measured.
type comparedRow struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Goroutines int    `json:"goroutines"`
	Laps       int    `json:"laps" jsonschema:"0: the cap would not show in a lap, nothing was measured"`

	NsPerID        float64 `json:"ns_per_id" jsonschema:"wall time, all goroutines together"`
	CPUNsPerID     float64 `json:"cpu_ns_per_id" jsonschema:"of the whole process; 0: this system does not tell"`
	RatioToAdd     float64 `json:"ratio_to_add" jsonschema:"to the atomic add on one goroutine in the same round"`
	CPURatio       float64 `json:"cpu_ratio_to_add" jsonschema:"the same of CPU times, which others on the machine disturb less"`
	RatioContended float64 `json:"ratio_contended" jsonschema:"to the atomic add on as many goroutines in the same round"`
	Fairness       float64 `json:"fairness" jsonschema:"smallest share of a goroutine over the largest"`
	CapPerSecond   float64 `json:"cap_per_second" jsonschema:"the most IDs that the format allows; 0: more than can be issued"`
	Bits           int     `json:"id_bits" jsonschema:"0: no ID"`
	Order          string  `json:"order" jsonschema:"of the IDs of one process"`
	Worker         string  `json:"processes_apart" jsonschema:"how two processes are kept apart"`
	Ahead          string  `json:"ahead_of_clock" jsonschema:"how far the time in an ID runs ahead of the clock"`
	Note           string  `json:"note"`
}

// compared turns laps into rows.
func compared(all []*event) []comparedRow {
	adds := make(map[int][]load.Lap)
	for _, e := range all {
		if e.contestant.Name == contestants.AtomicAddName {
			adds[e.goroutines] = e.laps
		}
	}
	rows := make([]comparedRow, 0, len(all))
	for _, e := range all {
		c := e.contestant
		row := comparedRow{Name: c.Name, Kind: c.Kind, Goroutines: e.goroutines, Laps: len(e.laps), CapPerSecond: c.PerSecond,
			Bits: c.Bits, Order: c.Order, Worker: c.Worker, Ahead: c.Ahead, Note: c.Note}
		if row.Laps > 0 {
			row.NsPerID = report.Median(values(e.laps, load.Lap.WallNs))
			row.CPUNsPerID = report.Median(values(e.laps, load.Lap.CPUNs))
			row.Fairness = report.Median(values(e.laps, load.Lap.Fairness))
			row.RatioToAdd = ratio(e.laps, adds[1], load.Lap.WallNs)
			row.CPURatio = ratio(e.laps, adds[1], load.Lap.CPUNs)
			row.RatioContended = ratio(e.laps, adds[e.goroutines], load.Lap.WallNs)
		}
		rows = append(rows, row)
	}
	return rows
}

// values returns fields of all rows.
func values[R any](rows []R, fields ...func(R) float64) (list []float64) {
	for _, row := range rows {
		for _, field := range fields {
			list = append(list, field(row))
		}
	}
	return list
}

// ratio returns the median of the cost of an ID in units of the same round; 0 if a unit has no
// cost.
func ratio(laps, units []load.Lap, cost func(load.Lap) float64) float64 {
	list := make([]float64, len(laps))
	for i, lap := range laps {
		if cost(units[i]) == 0 {
			return 0
		}
		list[i] = cost(lap) / cost(units[i])
	}
	return report.Median(list)
}

// find returns the row of a contestant, or false.
func (c comparison) find(name string, goroutines int) (comparedRow, bool) {
	for _, row := range c.Rows {
		if row.Name == name && row.Goroutines == goroutines {
			return row, true
		}
	}
	return comparedRow{}, false
}

// starved returns a warning if the machine had too little CPU time for the atomic add, which never
// waits.
func (c comparison) starved() string {
	var shares []string
	short := false
	for _, n := range distinct([]int{1, c.cpus()}) {
		row, _ := c.find(contestants.AtomicAddName, n)
		if row.CPUNsPerID == 0 {
			return ""
		}
		share := row.CPUNsPerID / row.NsPerID
		short = short || share < 0.85*float64(n)
		shares = append(shares, fmt.Sprintf("%.1f of %s", share, report.Counted(n, "CPU")))
	}
	if !short {
		return ""
	}
	return fmt.Sprintf("Other programs used the machine: the atomic add had %s. Wall times are too long then; CPU times tell more.", strings.Join(shares, ", "))
}

// kinds are the kinds of contestants in the order of the tables.
func kinds() []string { return []string{contestants.Own, contestants.Others, contestants.Baselines} }

// cpus is the number of goroutines that stands for all CPUs.
func (c comparison) cpus() int { return c.Machine.GOMAXPROCS }

// print prints the tables. A dash stands for figures that were not measured.
func (c comparison) print(p *report.Page) {
	p.Facts(c.Facts, "compare.csv")
	p.Picture("compare.svg", compareAlt)
	p.Text(`Wall time per ID of all goroutines together and CPU time of the whole process per ID, each with its ratio to an atomic
add on one goroutine in the same round. Medians of %d rounds of laps of %g ms, all contestants in random order in each.
Contestants that the format of their IDs caps wait for time to pass: their figure is the cap, not the code. A dash: the
cap is too low to show in a lap. If a library has an option for a wider format, both formats are in the table.`, c.Rounds, c.LapMs)
	if note := c.starved(); note != "" {
		p.Text("%s", note)
	}
	for _, kind := range kinds() {
		if !p.Markdown {
			fmt.Fprintln(p)
		}
		p.Table(c.speeds(kind))
	}
	p.Title("Properties")
	p.Text(`IDs that are taken faster than the format has them wait for the clock, or their time runs ahead of it. Go's own package
uuid is in the table if the program is built with Go 1.27 or later. bytentropy/snowflake, a compare-and-swap for each
CPU, is not: its repository has no licence.`)
	p.Table(c.properties())
	p.Title("Many goroutines")
	p.Picture("goroutines.svg", goroutinesAlt)
	p.Text(`Nanoseconds per ID, and after the comma the smallest share of a goroutine over the largest. Goroutines that outnumber
the CPUs yield about once in 20 µs; otherwise the share would be a figure of Go's scheduler.`)
	p.Table(c.crowds())
}

// speeds is the table of a kind: one goroutine, and all CPUs if there are more.
func (c comparison) speeds(kind string) *report.Table {
	counts := distinct([]int{1, c.cpus()})
	t := report.NewTable(kind)
	for _, n := range counts {
		t.Head = append(t.Head, fmt.Sprintf("ns/ID on %d", n), "× add", "CPU ns/ID", "CPU × add")
		if n > 1 {
			t.Head = append(t.Head, fmt.Sprintf("× add on %d", n))
		}
	}
	t.Head = append(t.Head, "capped at")
	for _, first := range c.Rows {
		if first.Kind != kind || first.Goroutines != 1 {
			continue
		}
		cells := []string{first.Name}
		for _, n := range counts {
			row, _ := c.find(first.Name, n)
			cells = append(cells, report.Figure(row.NsPerID), row.ratio(row.RatioToAdd), report.Figure(row.CPUNsPerID), row.cpuRatio())
			if n > 1 {
				cells = append(cells, row.ratio(row.RatioContended))
			}
		}
		t.Add(append(cells, first.limit())...)
	}
	return t
}

// ratio writes a ratio of r. It writes no ratio of a capped row, which would be a ratio of waiting.
func (r comparedRow) ratio(to float64) string {
	switch {
	case r.Laps == 0:
		return report.None
	case r.CapPerSecond > 0:
		return "capped"
	}
	return report.Figure(to) + " ×"
}

// cpuRatio writes the ratio of CPU times, of capped rows too: some wait for their cap without the
// CPU, some with it.
func (r comparedRow) cpuRatio() string {
	if r.CPURatio == 0 {
		return report.None
	}
	return report.Figure(r.CPURatio) + " ×"
}

func (r comparedRow) limit() string {
	if r.CapPerSecond == 0 {
		return ""
	}
	return report.Comma(int64(r.CapPerSecond)) + "/s"
}

// properties is the table of the IDs' properties.
func (c comparison) properties() *report.Table {
	t := report.NewTable("", "bits", "order in a process", "processes kept apart by", "time ahead of the clock", "note")
	t.Left = len(t.Head)
	for _, row := range c.Rows {
		if row.Goroutines == 1 && row.Bits > 0 {
			t.Add(row.Name, strconv.Itoa(row.Bits), row.Order, row.Worker, row.Ahead, row.Note)
		}
	}
	return t
}

// crowds is the table by number of goroutines.
func (c comparison) crowds() *report.Table {
	t := report.NewTable("ns/ID, fairness")
	var counts []int
	for _, row := range c.Rows {
		if row.Name == contestants.AtomicAddName {
			counts = append(counts, row.Goroutines)
			t.Head = append(t.Head, report.Goroutines(row.Goroutines))
		}
	}
	for _, first := range c.Rows {
		if first.Goroutines != 1 || first.Laps == 0 {
			continue
		}
		cells := []string{first.Name}
		for _, n := range counts {
			row, found := c.find(first.Name, n)
			if !found {
				break
			}
			cell := report.Figure(row.NsPerID)
			if n > 1 {
				cell += fmt.Sprintf(", %.2f", row.Fairness)
			}
			cells = append(cells, cell)
		}
		if len(cells) == len(t.Head) {
			t.Add(cells...)
		}
	}
	return t
}
