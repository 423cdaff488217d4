package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/report"
)

// The texts for readers who do not see the pictures.
const (
	compareAlt    = "Bar chart: wall time per ID of this library, other libraries and baselines on one goroutine"
	goroutinesAlt = "Line chart: wall time per ID by number of goroutines"
)

func reportCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	c, s := new(comparison), new(soak)
	compareFlags(flags, c)
	ids := flags.Int64("ids", 1_000_000_000, "`IDs` of the soak")
	out := flags.String("out", filepath.Join("docs", "benchmarks"), "the `folder`, created if missing")
	return func(ctx context.Context, w io.Writer) error {
		if err := os.MkdirAll(*out, 0o755); err != nil { // before minutes of measurement depend on it
			return err
		}
		if err := c.run(ctx, fmt.Sprintf("bench compare -rounds=%d -lap=%v", c.rounds, c.lap)); err != nil {
			return err
		}
		s.Facts = report.NewFacts(fmt.Sprintf("bench soak -ids=%d", *ids))
		if err := s.run(ctx, *ids); err != nil {
			return err
		}
		return publish(*out, c, s)
	}
}

// publish writes the files of the report.
func publish(dir string, c *comparison, s *soak) error {
	readme, err := os.Create(filepath.Join(dir, "README.md"))
	if err != nil {
		return err
	}
	p := report.NewPage(readme)
	p.Markdown = true
	p.Text("# Benchmarks")
	p.Text("Written by `make report`. Read ratios rather than nanoseconds: the contestants took turns, so that noise of the machine hits all of\nthem alike. In short, of the comparison below, as in README.md:")
	p.Table(c.short())
	p.Title("Beside other libraries")
	c.print(p)
	p.Title("Every ID counted")
	s.print(p)
	return errors.Join(p.Flush(), readme.Close(),
		os.WriteFile(filepath.Join(dir, "compare.svg"), []byte(c.bars().SVG()), 0o644),
		os.WriteFile(filepath.Join(dir, "goroutines.svg"), []byte(c.lines().SVG()), 0o644))
}

// caption returns the command, and the machine, the Go version and the date.
func (c *comparison) caption() []string {
	return []string{"go run ./" + c.Command, c.Facts.String(), starved(c.rows)}
}

// bars is the main chart: every contestant on one goroutine.
func (c *comparison) bars() chart.Figure {
	rows := slices.DeleteFunc(slices.Clone(c.rows), func(r row) bool { return r.Goroutines != 1 })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.shown(), a.shown()) })
	style := map[string]int{contestants.Own: 0, contestants.Others: 1, contestants.Baselines: 6}
	var names []string
	least, most := rows[0].shown(), rows[0].shown()
	for _, r := range rows {
		name := r.Name
		if r.Kind == contestants.Own {
			name = "uidring: " + name
		}
		names = append(names, name)
		least, most = min(least, r.shown(), c.onAll(r)), max(most, r.shown(), c.onAll(r))
	}
	x := chart.Times("wall time per ID (logarithmic)", least*0.9, most)
	x.Max = most * math.Pow(most/x.Min, 0.37) // room for the texts
	x.Ticks = chart.Decades(x.Min, most)
	add := c.find(contestants.AtomicAdd, 1).shown()
	keys := []chart.Key{{Text: contestants.Own, Style: 0}, {Text: contestants.Others, Style: 1}, {Text: contestants.Baselines, Style: 6},
		{Text: "capped by its ID format", Style: 1, Mark: chart.Hollow}}
	if c.GOMAXPROCS > 1 {
		keys = append(keys, chart.Key{Text: report.Goroutines(c.GOMAXPROCS) + ", all together", Mark: chart.Dot})
	}
	return chart.Figure{
		Title:    "Time per ID",
		Subtitle: fmt.Sprintf("one goroutine; bars begin at the uncontended atomic add; × is the ratio to the add of the same round; medians of %d rounds", c.rounds),
		Keys:     keys, Left: 250, Height: 45 + 25*len(rows), X: x, Y: chart.Names("", names), Caption: c.caption(),
		Draw: func(p chart.Plot) {
			for i, r := range rows {
				y, text := float64(i), fmt.Sprintf("%s · %s ×", report.Ns(r.Ns), report.Figure(r.Ratio))
				p.Bar(add, r.shown(), y, style[r.Kind], r.PerSecond > 0)
				if r.PerSecond > 0 {
					text = "at most " + r.limit()
				} else if c.GOMAXPROCS > 1 {
					p.Dot(c.onAll(r), y)
				}
				p.Text(y, text)
			}
			p.Rule(add)
		},
	}
}

// onAll returns the time per ID on all CPUs, or on one goroutine where the chart does not show
// it.
func (c *comparison) onAll(r row) float64 {
	if r.PerSecond > 0 {
		return r.shown()
	}
	return c.find(r.Name, c.GOMAXPROCS).shown()
}

// lines is the chart of time per ID by number of goroutines.
func (c *comparison) lines() chart.Figure {
	names := []string{"Next", "Lane.Next", contestants.AtomicAdd, contestants.MutexCounter}
	points := make([][][2]float64, len(names))
	x := chart.Axis{Title: "goroutines (logarithmic)", Log: true, Min: 1 / 1.15}
	var keys []chart.Key
	least, most := math.Inf(1), 0.0
	for i, name := range names {
		keys = append(keys, chart.Key{Text: name, Style: i, Mark: chart.Line})
		for _, r := range c.rows {
			if r.Name != name {
				continue
			}
			points[i] = append(points[i], [2]float64{float64(r.Goroutines), r.shown()})
			least, most = min(least, r.shown()), max(most, r.shown())
			if i == 0 {
				x.Ticks = append(x.Ticks, chart.Tick{At: float64(r.Goroutines), Label: report.Comma(r.Goroutines)})
				x.Max = float64(r.Goroutines) * 1.15
			}
		}
	}
	return chart.Figure{
		Title:    "Time per ID by number of goroutines",
		Subtitle: fmt.Sprintf("wall time, all goroutines together, on %s; medians of %d rounds", report.Counted(c.GOMAXPROCS, "CPU"), c.rounds),
		Keys:     keys, Left: 80, Height: 340, X: x, Y: chart.Times("wall time per ID (logarithmic)", least, most), Caption: c.caption(),
		Draw: func(p chart.Plot) {
			for i := range names {
				p.Line(i, points[i])
			}
		},
	}
}
