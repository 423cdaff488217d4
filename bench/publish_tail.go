package main

import (
	"fmt"
	"math"

	"github.com/uidring/uidring/bench/internal/chart"
)

// curves is the chart of latency by percentile: a row of panels for what else the program does, a column for the load.
func (r tailReport) curves() picture {
	f := chart.Figure{
		Title:    "Latency of single calls by percentile",
		Subtitle: "as the clock shows it, reading the clock included; both axes logarithmic",
		Height:   960,
		Caption:  r.caption(),
	}
	least, most := math.Inf(1), 0.0
	for _, row := range r.Rows {
		least, most = min(least, float64(row.P50Ns)), max(most, float64(row.P999Ns), float64(row.P9999Ns), float64(row.P99999Ns))
	}
	y := timeAxis("time of a call", max(least, 1), most)
	x := chart.Axis{Title: "percentile", Log: true, Min: 1.7, Max: 1.3e5}
	for _, p := range tailPercentiles() {
		x.Ticks = append(x.Ticks, chart.Tick{At: p.at, Label: p.label})
	}
	for _, pressure := range pressureNames() {
		row := []chart.Panel{
			r.panel(pressure, "1 goroutine, flat out", x, y, func(t tailRow) bool { return t.Goroutines == 1 && t.Rate == 0 }),
			r.panel(pressure, r.paced(), x, y, func(t tailRow) bool { return t.Rate > 0 }),
		}
		f.Panels = append(f.Panels, row)
		f.Keys = chart.Keys(row[0].(chart.Lines).Series)
	}
	return picture{"tail", "Line charts: latency of single calls from p50 to p99.999", f}
}

// paced names the load with a rate.
func (r tailReport) paced() string {
	for _, row := range r.Rows {
		if row.Rate > 0 {
			return fmt.Sprintf("%s, %s/s", goroutines(row.Goroutines), comma(int64(row.Rate)))
		}
	}
	return "paced"
}

// A tailPercentile is a tick of the chart: at is one in how many calls that take longer.
type tailPercentile struct {
	at    float64
	label string
	value func(tailRow) int64
}

func tailPercentiles() []tailPercentile {
	return []tailPercentile{
		{2, "50", func(r tailRow) int64 { return r.P50Ns }},
		{10, "90", func(r tailRow) int64 { return r.P90Ns }},
		{100, "99", func(r tailRow) int64 { return r.P99Ns }},
		{1000, "99.9", func(r tailRow) int64 { return r.P999Ns }},
		{10_000, "99.99", func(r tailRow) int64 { return r.P9999Ns }},
		{100_000, "99.999", func(r tailRow) int64 { return r.P99999Ns }},
	}
}

func (r tailReport) panel(pressure, load string, x, y chart.Axis, fits func(tailRow) bool) chart.Lines {
	l := chart.Lines{Title: fmt.Sprintf("%s, beside %s", load, pressure), X: x, Y: y}
	for _, row := range r.Rows {
		if row.Pressure != pressure || !fits(row) {
			continue
		}
		s := newSeries(row.Call)
		for _, p := range tailPercentiles() {
			if ns := p.value(row); ns > 0 { // else there were too few samples
				s.Points = append(s.Points, chart.Point{X: p.at, Y: float64(ns)})
			}
		}
		l.Series = append(l.Series, s)
	}
	return l
}
