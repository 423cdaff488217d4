package main

import (
	"fmt"
	"slices"

	"github.com/uidring/uidring/bench/internal/chart"
)

// A picture is a figure of the report.
type picture struct {
	name   string // of its files
	alt    string // what it shows, for those who do not see it
	figure chart.Figure
}

// pictures returns all that the figures are enough for.
func (r results) pictures() []picture {
	list := []picture{r.Compare.bars(), r.Compare.lines()}
	list = append(list, r.Sweep.maps()...)
	return append(list, r.Sweep.layouts(), r.Tail.curves())
}

// find returns a picture by its name.
func (r results) picture(name string) picture {
	list := r.pictures()
	return list[slices.IndexFunc(list, func(p picture) bool { return p.name == name })]
}

// caption says what was run, where and when.
func (f facts) caption() []string {
	m := f.Machine
	text := fmt.Sprintf("go run ./%s · %s, %s, GOMAXPROCS %d · %s %s/%s · %s", f.Command, m.CPU, counted(int64(m.CPUs), "CPU"),
		m.GOMAXPROCS, m.GoVersion, m.OS, m.Arch, f.Date.Format("2006-01-02"))
	return chart.Wrap(text, 140)
}

// timeAxis is a logarithmic axis of times from at most least to at least most.
func timeAxis(title string, least, most float64) chart.Axis {
	a := chart.Axis{Title: title, Log: true}
	a.Min, a.Max = chart.Around(least, most)
	a.Ticks = chart.Decades(a.Min, a.Max, chart.Duration)
	return a
}

// newSeries returns an empty series that looks the same in every chart.
func newSeries(name string) chart.Series {
	look := map[string]int{
		"Next": 0, callNext: 0,
		"Next, a lane per CPU": 1, callLanes: 1,
		"Lane.Next":         2,
		nameAtomicAdd:       3,
		"mutex and counter": 4,
		callEmpty:           5,
		callClock:           6,
	}[name]
	return chart.Series{Name: name, Color: chart.Color(look), Style: look}
}
