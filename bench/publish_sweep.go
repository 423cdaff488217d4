package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/uidring/uidring/bench/internal/chart"
)

// maps are the heat maps of the ring sweep.
func (r sweepReport) maps() []picture {
	list := planes(r.of(sweepRing))
	ratio := func(row sweepRow) float64 { return row.Ratio }
	tail := func(row sweepRow) float64 { return float64(row.P9999Ns) }
	return []picture{
		{"ring_throughput", "Heat maps: time per ID by boost power and padding factor", chart.Figure{
			Title:    "Time per ID by boost power and padding factor",
			Subtitle: "Next, in atomic adds of the same round on as many goroutines; lower is faster",
			Panels:   heatPanels(list, ratio, func(v float64) string { return fmt.Sprintf("%.2f ×", v) }),
			Height:   heatHeight(list),
			Caption:  r.caption(),
		}},
		{"ring_tail", "Heat maps: p99.99 of Next by boost power and padding factor", chart.Figure{
			Title:    "p99.99 of a single Next by boost power and padding factor",
			Subtitle: "flat out, pauses by the scheduler included; lower is better",
			Panels:   heatPanels(list, tail, func(v float64) string { return ns(v) }),
			Height:   heatHeight(list),
			Caption:  r.caption(),
		}},
	}
}

func heatHeight(list []plane) int {
	boosts := 0
	for _, p := range list {
		boosts = max(boosts, len(p.boosts()))
	}
	return 110 + (len(list)+1)/2*(95+24*boosts)
}

// heatPanels are two in a row; their shades can be compared.
func heatPanels(list []plane, value func(sweepRow) float64, text func(float64) string) (panels [][]chart.Panel) {
	low, high := math.Inf(1), 0.0
	for _, p := range list {
		for _, row := range p.rows {
			low, high = min(low, value(row)), max(high, value(row))
		}
	}
	for i, p := range list {
		h := chart.Heat{
			Title:  fmt.Sprintf("on empty: %s, %s", p.onEmpty, goroutines(p.goroutines)),
			XTitle: "padding factor, %", YTitle: "boost power",
			XLabels: names(p.paddings()), YLabels: names(p.boosts()),
			Low: low, High: high, Text: func(v float64) string {
				if v == 0 {
					return none
				}
				return text(v)
			},
		}
		slices.Reverse(h.YLabels)
		for _, boost := range slices.Backward(p.boosts()) {
			var line []float64
			for _, padding := range p.paddings() {
				k := slices.IndexFunc(p.rows, func(r sweepRow) bool { return r.Boost == boost && r.Padding == padding })
				if k < 0 { // not measured
					line = append(line, 0)
					continue
				}
				line = append(line, value(p.rows[k]))
			}
			h.Values = append(h.Values, line)
		}
		if i%2 == 0 {
			panels = append(panels, nil)
		}
		panels[len(panels)-1] = append(panels[len(panels)-1], h)
	}
	return panels
}

func (p plane) boosts() []int { return distinct(pick(p.rows, func(r sweepRow) int { return r.Boost })) }
func (p plane) paddings() []int {
	return distinct(pick(p.rows, func(r sweepRow) int { return r.Padding }))
}

func pick(rows []sweepRow, field func(sweepRow) int) (list []int) {
	for _, r := range rows {
		list = append(list, field(r))
	}
	return list
}

func names(numbers []int) (list []string) {
	for _, n := range numbers {
		list = append(list, strconv.Itoa(n))
	}
	return list
}

// label labels the ticks that have room, whole numbers.
func label(x chart.Axis) {
	last := math.Inf(-1)
	for i, tick := range x.Ticks {
		if tick.At-last > (x.Max-x.Min)/16 {
			x.Ticks[i].Label = strconv.Itoa(int(tick.At))
			last = tick.At
		}
	}
}

// layouts is the chart of the layouts that the README of the original measures, and of sequence bits.
func (r sweepReport) layouts() picture {
	least, most := math.Inf(1), 0.0
	for _, name := range []string{sweepDelta, sweepWorker, sweepConsumers, sweepSequence} {
		for _, row := range r.of(name) {
			least, most = min(least, row.NsPerID, row.AtomicAddNs), max(most, row.NsPerID, row.AtomicAddNs)
		}
	}
	y := timeAxis("wall time per ID", least, most)
	bits := func(sum int) func(sweepRow) int { return func(r sweepRow) int { return sum - r.SequenceBits } }
	return picture{"layouts", "Line charts: wall time per ID by widths of the layout and number of goroutines", chart.Figure{
		Title:    "Time per ID by layout",
		Subtitle: fmt.Sprintf("Next beside an atomic add of the same rounds, on %s unless said otherwise", goroutines(r.Machine.GOMAXPROCS)),
		Keys:     chart.Keys([]chart.Series{newSeries("Next"), newSeries(nameAtomicAdd)}),
		Panels: [][]chart.Panel{
			{r.panel(sweepDelta, "20 worker bits", "delta bits", y, bits(43)), r.panel(sweepWorker, "31 delta bits", "worker bits", y, bits(32))},
			{
				r.panel(sweepConsumers, "layout 31/23/9", "goroutines", y, func(r sweepRow) int { return r.Goroutines }),
				r.panel(sweepSequence, "16 worker bits", "sequence bits", y, func(r sweepRow) int { return r.SequenceBits }),
			},
		},
		Height:  640,
		Caption: r.caption(),
	}}
}

func (r sweepReport) panel(name, title, what string, y chart.Axis, at func(sweepRow) int) chart.Lines {
	next, add := newSeries("Next"), newSeries(nameAtomicAdd)
	x := chart.Axis{Title: what}
	for _, row := range r.of(name) {
		place := float64(at(row))
		next.Points = append(next.Points, chart.Point{X: place, Y: row.NsPerID})
		add.Points = append(add.Points, chart.Point{X: place, Y: row.AtomicAddNs})
		x.Ticks = append(x.Ticks, chart.Tick{At: place})
	}
	x.Min, x.Max = x.Ticks[0].At-0.5, x.Ticks[len(x.Ticks)-1].At+0.5
	label(x)
	return chart.Lines{Title: title, X: x, Y: y, Series: []chart.Series{next, add}}
}
