package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/report"
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
		if err := s.run(ctx, fmt.Sprintf("bench soak -ids=%d", *ids), *ids); err != nil {
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
	return errors.Join(p.Flush(), readme.Close(), os.WriteFile(filepath.Join(dir, "compare.svg"), []byte(c.figure().SVG()), 0o644))
}

// figure is the chart: every contestant on one goroutine.
func (c *comparison) figure() chart.Figure {
	rows := c.alone()
	slices.SortStableFunc(rows, func(a, b *event) int { return cmp.Compare(b.shown(), a.shown()) })
	styles := map[string]chart.Style{contestants.Own: {Color: "#0072b2"}, contestants.Others: {Color: "#d55e00"}, contestants.Baselines: {Color: "#8c8c8c"}}
	f := chart.Figure{
		Title:    "Time per ID",
		Subtitle: fmt.Sprintf("one goroutine; bars begin at the uncontended atomic add; × is the ratio to the add of the same round; medians of %d rounds", c.rounds),
		Scale:    "wall time per ID (logarithmic)",
		Begin:    c.find(contestants.AtomicAdd, 1).shown(),
		Caption:  []string{"go run ./" + c.Command, c.Facts.String(), c.starved()},
	}
	for _, kind := range contestants.Kinds {
		f.Keys = append(f.Keys, chart.Key{Text: kind, Style: styles[kind]})
	}
	f.Keys = append(f.Keys, chart.Key{Text: "capped by its ID format", Style: chart.Style{Color: "#d55e00", Hollow: true}})
	if c.GOMAXPROCS > 1 {
		f.Keys = append(f.Keys, chart.Key{Text: report.Goroutines(c.GOMAXPROCS) + ", all together", Dot: true})
	}
	for _, e := range rows {
		b := chart.Bar{Name: e.Name, Text: fmt.Sprintf("%s · %s ×", report.Ns(e.ns()), report.Figure(c.timesAdd(e))), End: e.shown(), Style: styles[e.Kind]}
		if e.Kind == contestants.Own {
			b.Name = "uidring: " + b.Name
		}
		if e.PerSecond > 0 {
			b.Style.Hollow, b.Text = true, "at most "+e.limit()
		} else if c.GOMAXPROCS > 1 {
			b.Dot = c.find(e.Name, c.GOMAXPROCS).shown()
		}
		f.Bars = append(f.Bars, b)
	}
	return f
}

// shown is the time in the chart: the time that the cap allows where nothing was measured.
func (e *event) shown() float64 {
	if len(e.laps) == 0 && e.PerSecond > 0 {
		return 1e9 / e.PerSecond
	}
	return cmp.Or(e.ns(), 1)
}
