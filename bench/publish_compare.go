package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/uidring/uidring/bench/internal/chart"
)

// bars is the main chart: every contestant on one goroutine.
func (c comparison) bars() picture {
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r comparedRow) bool { return r.Goroutines != 1 })
	slices.SortStableFunc(rows, func(a, b comparedRow) int { return cmp.Compare(a.least(), b.least()) })
	least, most := math.Inf(1), 0.0
	var bars []chart.Bar
	for _, row := range rows {
		bar := c.bar(row)
		bars = append(bars, bar)
		least, most = min(least, bar.Value), max(most, bar.Value, bar.Second)
		if bar.Second > 0 {
			least = min(least, bar.Second)
		}
	}
	from, _ := chart.Around(least*0.9, most)
	x := chart.Axis{Title: "wall time per ID on one goroutine (logarithmic)", Log: true, Min: from, Ticks: chart.Decades(from, most, chart.Duration)}
	x.Max = most * math.Pow(most/from, 0.27) // room for the texts
	add, _ := c.find(nameAtomicAdd, 1)
	return picture{"compare", "Bar chart: wall time per ID of this library, other libraries and baselines on one goroutine", chart.Figure{
		Title:    "Time per ID",
		Subtitle: fmt.Sprintf("× is the ratio to an uncontended atomic add of the same round, the dashed line; medians of %d rounds", c.Rounds),
		Keys:     c.barKeys(),
		Panels:   [][]chart.Panel{{chart.Bars{X: x, Reference: add.NsPerID, Bars: bars}}},
		Height:   190 + 25*len(bars),
		Caption:  c.captions(),
	}}
}

func (c comparison) bar(row comparedRow) chart.Bar {
	bar := chart.Bar{Name: row.Name, Value: row.least(), Color: kindColor(row.Kind)}
	if row.Kind == kindOwn {
		bar.Name = "uidring: " + row.Name
	}
	if row.CapPerSecond > 0 {
		bar.Hollow, bar.Text = true, "at most "+row.limit()
		return bar
	}
	bar.Text = fmt.Sprintf("%s ns · %s ×", figure(row.NsPerID), figure(row.RatioToAdd))
	if all, ok := c.find(row.Name, c.cpus()); ok && c.cpus() > 1 {
		bar.Second = all.NsPerID
	}
	return bar
}

func (c comparison) barKeys() []chart.Key {
	keys := []chart.Key{
		{Text: kindOwn, Color: kindColor(kindOwn)},
		{Text: kindOther, Color: kindColor(kindOther)},
		{Text: kindBaseline, Color: kindColor(kindBaseline)},
		{Text: "capped by its ID format", Color: kindColor(kindOther), Mark: chart.Hollow},
	}
	if c.cpus() > 1 {
		keys = append(keys, chart.SecondKey(goroutines(c.cpus())+", all together"))
	}
	return keys
}

// least is the time per ID, or what the cap makes of it where nothing was measured.
func (r comparedRow) least() float64 {
	if r.Laps == 0 && r.CapPerSecond > 0 {
		return 1e9 / r.CapPerSecond
	}
	return r.NsPerID
}

func kindColor(kind string) color.Color {
	return chart.Color(map[string]int{kindOwn: 0, kindOther: 1, kindBaseline: 6}[kind])
}

// captions is the caption, and what has to be known about the machine.
func (c comparison) captions() []string {
	if note := c.starved(); note != "" {
		return append(c.caption(), chart.Wrap(note, 140)...)
	}
	return c.caption()
}

// lineNames are the contestants that the chart by number of goroutines has.
func lineNames() []string {
	return []string{"Next", "Next, a lane per CPU", "Lane.Next", nameAtomicAdd, "mutex and counter"}
}

// lines is the chart of time per ID by number of goroutines.
func (c comparison) lines() picture {
	var series []chart.Series
	least, most := math.Inf(1), 0.0
	var counts []int
	for _, name := range lineNames() {
		s := newSeries(name)
		for _, row := range c.Rows {
			if row.Name != name {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: float64(row.Goroutines), Y: row.NsPerID})
			counts = append(counts, row.Goroutines)
			least, most = min(least, row.NsPerID), max(most, row.NsPerID)
		}
		series = append(series, s)
	}
	x := chart.Axis{Title: "goroutines (logarithmic)", Log: true}
	counts = distinct(counts)
	for _, n := range counts {
		x.Ticks = append(x.Ticks, chart.Tick{At: float64(n), Label: comma(int64(n))})
	}
	x.Min, x.Max = float64(counts[0])/1.15, float64(counts[len(counts)-1])*1.15
	return picture{"goroutines", "Line chart: wall time per ID by number of goroutines", chart.Figure{
		Title:    "Time per ID by number of goroutines",
		Subtitle: fmt.Sprintf("wall time, all goroutines together, on %s; medians of %d rounds", counted(int64(c.cpus()), "CPU"), c.Rounds),
		Keys:     chart.Keys(series),
		Panels:   [][]chart.Panel{{chart.Lines{X: x, Y: timeAxis("wall time per ID (logarithmic)", least, most), Series: series}}},
		Height:   460,
		Caption:  c.captions(),
	}}
}
