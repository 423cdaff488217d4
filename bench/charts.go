package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/report"
)

// The texts for readers who do not see the pictures.
const (
	compareAlt    = "Bar chart: wall time per ID of this library, other libraries and baselines on one goroutine"
	goroutinesAlt = "Line chart: wall time per ID by number of goroutines"
	ratiosAlt     = "Heat maps: time per ID by boost power and padding factor"
	tailsAlt      = "Heat maps: p99.99 of Next by boost power and padding factor"
	layoutsAlt    = "Line charts: wall time per ID by widths of the layout and number of goroutines"
	curvesAlt     = "Line charts: latency of single calls from p50 to p99.999"
)

// pictures returns the pictures of the report by the names of their files.
func (r results) pictures() map[string]chart.Figure {
	return map[string]chart.Figure{"compare": r.Compare.bars(), "goroutines": r.Compare.lines(), "ring_throughput": r.Sweep.ratios(),
		"ring_tail": r.Sweep.tails(), "layouts": r.Sweep.layouts(), "tail": r.Tail.curves()}
}

// caption returns the command, the machine and the date.
func caption(f report.Facts) string {
	m := f.Machine
	return fmt.Sprintf("go run ./%s · %s, %s, GOMAXPROCS %d · %s %s/%s · %s · %s", f.Command, m.CPU, report.Counted(m.CPUs, "CPU"),
		m.GOMAXPROCS, m.GoVersion, m.OS, m.Arch, f.Date.Format("2006-01-02"), f.Measured())
}

// A series is a line of a chart.
type series struct {
	name   string
	points [][2]float64
}

// style returns the look that the series has in every chart.
func (s series) style() int {
	return max(0, slices.IndexFunc([][]string{
		{"Next", callNext}, {"Next, a lane per CPU", callLanes}, {"Lane.Next"}, {contestants.AtomicAddName}, {"mutex and counter"}, {callEmpty}, {callClock},
	}, func(names []string) bool { return slices.Contains(names, s.name) }))
}

func keys(list []series) (keys []chart.Key) {
	for _, s := range list {
		keys = append(keys, chart.Key{Text: s.name, Style: s.style(), Mark: chart.Line})
	}
	return keys
}

func linePanel(title string, x, y chart.Axis, list []series) chart.Panel {
	return chart.Panel{Title: title, Left: 80, X: x, Y: y, Draw: func(p chart.Plot) {
		for _, s := range list {
			p.Line(s.style(), s.points)
		}
	}}
}

// bounds returns the least and the largest of values.
func bounds(values []float64) (least, most float64) { return slices.Min(values), slices.Max(values) }

// bars is the main chart: every contestant on one goroutine.
func (c comparison) bars() chart.Figure {
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r comparedRow) bool { return r.Goroutines != 1 })
	slices.SortStableFunc(rows, func(a, b comparedRow) int { return cmp.Compare(b.least(), a.least()) })
	var names []string
	var times []float64
	for _, row := range rows {
		names = append(names, row.label())
		times = append(times, row.least(), cmp.Or(c.onAll(row), row.least()))
	}
	least, most := bounds(times)
	x := chart.Times("wall time per ID (logarithmic)", least*0.9, most)
	x.Max = most * math.Pow(most/x.Min, 0.37) // room for the texts
	x.Ticks = chart.Decades(x.Min, most)
	add, _ := c.find(contestants.AtomicAddName, 1)
	panel := chart.Panel{Left: 250, X: x, Y: chart.Names("", names), Draw: func(p chart.Plot) {
		for i, row := range rows {
			y, text := float64(i), fmt.Sprintf("%s ns · %s ×", report.Figure(row.NsPerID), report.Figure(row.RatioToAdd))
			p.Bar(add.NsPerID, row.least(), y, kindStyle(row.Kind), row.CapPerSecond > 0)
			if all := c.onAll(row); all > 0 {
				p.Dot(all, y)
			}
			if row.CapPerSecond > 0 {
				text = "at most " + row.limit()
			}
			p.Text(y, text)
		}
		p.Rule(add.NsPerID)
	}}
	var keys []chart.Key
	for _, kind := range kinds() {
		keys = append(keys, chart.Key{Text: kind, Style: kindStyle(kind)})
	}
	keys = append(keys, chart.Key{Text: "capped by its ID format", Style: kindStyle(contestants.Others), Mark: chart.Hollow})
	if c.cpus() > 1 {
		keys = append(keys, chart.Key{Text: report.Goroutines(c.cpus()) + ", all together", Mark: chart.Dot})
	}
	return chart.Figure{
		Title:    "Time per ID",
		Subtitle: fmt.Sprintf("one goroutine; bars begin at the uncontended atomic add; × is the ratio to the add of the same round; medians of %d rounds", c.Rounds),
		Keys:     keys, Panels: []chart.Panel{panel}, Columns: 1, PanelHeight: 45 + 25*len(rows),
		Caption: c.caption(),
	}
}

// caption includes the warning, if there is one.
func (c comparison) caption() string {
	if note := c.starved(); note != "" {
		return caption(c.Facts) + " · " + note
	}
	return caption(c.Facts)
}

// onAll returns the time per ID on all CPUs, 0 where a chart does not show it.
func (c comparison) onAll(row comparedRow) float64 {
	if row.CapPerSecond > 0 || c.cpus() == 1 {
		return 0
	}
	all, _ := c.find(row.Name, c.cpus())
	return all.NsPerID
}

func (r comparedRow) label() string {
	if r.Kind == contestants.Own {
		return "uidring: " + r.Name
	}
	return r.Name
}

// least is the time per ID, or the time that the cap allows where nothing was measured.
func (r comparedRow) least() float64 {
	if r.Laps == 0 && r.CapPerSecond > 0 {
		return 1e9 / r.CapPerSecond
	}
	return r.NsPerID
}

func kindStyle(kind string) int {
	return map[string]int{contestants.Own: 0, contestants.Others: 1, contestants.Baselines: 6}[kind]
}

// lineNames are the contestants in the chart by number of goroutines.
func lineNames() []string {
	return []string{"Next", "Next, a lane per CPU", "Lane.Next", contestants.AtomicAddName, "mutex and counter"}
}

// lines is the chart of time per ID by number of goroutines.
func (c comparison) lines() chart.Figure {
	var list []series
	var times []float64
	var counts []int
	for _, name := range lineNames() {
		s := series{name: name}
		for _, row := range c.Rows {
			if row.Name == name {
				s.points = append(s.points, [2]float64{float64(row.Goroutines), row.NsPerID})
				counts, times = append(counts, row.Goroutines), append(times, row.NsPerID)
			}
		}
		list = append(list, s)
	}
	counts = distinct(counts)
	x := chart.Axis{Title: "goroutines (logarithmic)", Log: true, Min: float64(counts[0]) / 1.15, Max: float64(counts[len(counts)-1]) * 1.15}
	for _, n := range counts {
		x.Ticks = append(x.Ticks, chart.Tick{At: float64(n), Label: report.Comma(n)})
	}
	least, most := bounds(times)
	return chart.Figure{
		Title:    "Time per ID by number of goroutines",
		Subtitle: fmt.Sprintf("wall time, all goroutines together, on %s; medians of %d rounds", report.Counted(c.cpus(), "CPU"), c.Rounds),
		Keys:     keys(list), Columns: 1, PanelHeight: 340,
		Panels:  []chart.Panel{linePanel("", x, chart.Times("wall time per ID (logarithmic)", least, most), list)},
		Caption: c.caption(),
	}
}

func (r sweepReport) ratios() chart.Figure {
	return r.heat(
		"Time per ID by boost power and padding factor",
		"Next, in atomic adds of the same round on as many goroutines; lower is faster",
		func(row sweepRow) float64 { return row.Ratio },
		func(v float64) string { return fmt.Sprintf("%.2f ×", v) },
	)
}

func (r sweepReport) tails() chart.Figure {
	return r.heat(
		"p99.99 of a single Next by boost power and padding factor",
		"flat out, pauses by the scheduler and reading the clock included; lower is better",
		func(row sweepRow) float64 { return float64(row.P9999Ns) }, report.Ns,
	)
}

// heat draws a map for each plane of the ring sweep. All maps share one scale.
func (r sweepReport) heat(title, subtitle string, value func(sweepRow) float64, text func(float64) string) chart.Figure {
	f := chart.Figure{Title: title, Subtitle: subtitle, Columns: 2, Caption: caption(r.Facts)}
	rows := r.of(sweepRing)
	low, high := bounds(values(rows, value))
	for _, plane := range planes(rows) {
		boosts, paddings := plane.axes()
		slices.Reverse(boosts)
		f.PanelHeight = max(f.PanelHeight, 75+26*len(boosts))
		f.Panels = append(f.Panels, chart.Panel{
			Title: fmt.Sprintf("on empty: %s, %s", plane.onEmpty, report.Goroutines(plane.goroutines)), Left: 42,
			X: chart.Names("padding factor, %", names(paddings)), Y: chart.Names("boost power", names(boosts)),
			Draw: func(p chart.Plot) {
				for _, row := range plane.rows {
					v, shade := value(row), 0.0
					if v > low && high > low {
						shade = math.Log(v/low) / math.Log(high/low)
					}
					p.Cell(float64(slices.Index(paddings, row.Padding)), float64(slices.Index(boosts, row.Boost)), shade, text(v))
				}
			},
		})
	}
	return f
}

func names(numbers []int) (list []string) {
	for _, n := range numbers {
		list = append(list, strconv.Itoa(n))
	}
	return list
}

// layouts is the chart of the layouts that the README of the original measures, and of sequence
// bits.
func (r sweepReport) layouts() chart.Figure {
	f := chart.Figure{
		Title:    "Time per ID by layout",
		Subtitle: fmt.Sprintf("Next beside an atomic add of the same rounds, on %s unless said otherwise", report.Goroutines(r.Machine.GOMAXPROCS)),
		Columns:  2, PanelHeight: 250, Caption: caption(r.Facts),
		Keys: keys([]series{{name: "Next"}, {name: contestants.AtomicAddName}}),
	}
	bits := func(sum int) func(sweepRow) int { return func(r sweepRow) int { return sum - r.SequenceBits } }
	panels := []struct {
		sweep, title, xTitle string
		at                   func(sweepRow) int
	}{
		{sweepDelta, "20 worker bits", "delta bits", bits(43)},
		{sweepWorker, "31 delta bits", "worker bits", bits(32)},
		{sweepConsumers, "layout 31/23/9", "goroutines", func(r sweepRow) int { return r.Goroutines }},
		{sweepSequence, "16 worker bits", "sequence bits", func(r sweepRow) int { return r.SequenceBits }},
	}
	next, add := func(r sweepRow) float64 { return r.NsPerID }, func(r sweepRow) float64 { return r.AtomicAddNs }
	var times []float64
	for _, p := range panels {
		times = append(times, values(r.of(p.sweep), next, add)...)
	}
	least, most := bounds(times)
	y := chart.Times("wall time per ID", least, most)
	for _, p := range panels {
		x := chart.Axis{Title: p.xTitle}
		list := []series{{name: "Next"}, {name: contestants.AtomicAddName}}
		for _, row := range r.of(p.sweep) {
			at := float64(p.at(row))
			list[0].points = append(list[0].points, [2]float64{at, next(row)})
			list[1].points = append(list[1].points, [2]float64{at, add(row)})
			x.Ticks = append(x.Ticks, chart.Tick{At: at, Label: strconv.Itoa(p.at(row))})
		}
		x.Min, x.Max = x.Ticks[0].At-0.5, x.Ticks[len(x.Ticks)-1].At+0.5
		f.Panels = append(f.Panels, linePanel(p.title, thin(x), y, list))
	}
	return f
}

// thin removes the labels of ticks that have no room for one.
func thin(x chart.Axis) chart.Axis {
	last := math.Inf(-1)
	for i, tick := range x.Ticks {
		if tick.At-last <= (x.Max-x.Min)/16 {
			x.Ticks[i].Label = ""
			continue
		}
		last = tick.At
	}
	return x
}

// curves is the chart of latency by percentile: a row of panels for each pressure, a column for
// each load.
func (r tailReport) curves() chart.Figure {
	f := chart.Figure{
		Title:    "Latency of single calls by percentile",
		Subtitle: "as the clock shows it, reading the clock included; both axes logarithmic",
		Columns:  3, PanelHeight: 240, Caption: caption(r.Facts),
	}
	if r.Machine.GOMAXPROCS == 1 {
		f.Columns = 2
	}
	x := chart.Axis{Title: "percentile", Small: true, Log: true, Min: 1.7, Max: 1.3e5}
	var times []float64
	for _, p := range percentiles {
		x.Ticks = append(x.Ticks, chart.Tick{At: p.oneIn, Label: p.label})
		times = append(times, values(r.Rows, func(r tailRow) float64 { return float64(max(p.value(r), r.P50Ns, 1)) })...)
	}
	least, most := bounds(times)
	y := chart.Times("", least, most)
	for i, rows := range r.groups() {
		var list []series
		for _, row := range rows {
			s := series{name: row.Call}
			for _, p := range percentiles {
				if ns := p.value(row); ns > 0 { // else there were too few samples
					s.points = append(s.points, [2]float64{p.oneIn, float64(ns)})
				}
			}
			list = append(list, s)
		}
		f.Keys = keys(list)
		panel := linePanel(rows[0].speed(), x, y, list)
		panel.Left = 58
		if i%f.Columns == 0 {
			panel.Left, panel.Y.Title = 74, "beside "+rows[0].Pressure
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
