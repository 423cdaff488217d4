package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
)

// A comparison is the result of compare.
type comparison struct {
	report.Facts
	rounds int
	lap    time.Duration
	rows   []row
}

func compareFlags(flags *flag.FlagSet, c *comparison) {
	flags.IntVar(&c.rounds, "rounds", rounds, "rounds, from 1; in each every contestant has one lap on 1 goroutine and one on all CPUs")
	flags.DurationVar(&c.lap, "lap", 100*time.Millisecond, "time of a lap")
}

func compareCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	c := new(comparison)
	compareFlags(flags, c)
	return func(ctx context.Context, w io.Writer) error {
		if err := c.run(ctx, commandLine(flags)); err != nil {
			return err
		}
		return show(w, c.print)
	}
}

// run measures all contestants, some of them also on many goroutines.
func (c *comparison) run(ctx context.Context, command string) error {
	if c.rounds < 1 || c.lap <= 0 {
		return fmt.Errorf("-rounds %d, -lap %v; allowed: at least 1, above 0", c.rounds, c.lap)
	}
	c.Facts = report.NewFacts(command)
	all := events(contestants.All(), runtime.GOMAXPROCS(0), []int{8, 64, 1024})
	err := hold(ctx, all, c.rounds, c.lap)
	c.rows = compared(all)
	return err
}

// An event is a contestant on a number of goroutines, with the lap of each round.
type event struct {
	contestant contestants.Contestant
	goroutines int
	laps       []load.Lap
}

// events returns every contestant on 1 goroutine and on cpus, and some also on many.
func events(list []contestants.Contestant, cpus int, many []int) (all []*event) {
	for _, c := range list {
		counts := []int{1, cpus}
		if c.Crowd {
			counts = append(counts, many...)
		}
		slices.Sort(counts)
		for _, n := range slices.Compact(counts) {
			all = append(all, &event{contestant: c, goroutines: n})
		}
	}
	return all
}

// hold runs the events in rounds. In each round every event has a lap of length d, in random
// order, so that disturbances of the machine hit all contestants alike.
func hold(ctx context.Context, all []*event, rounds int, d time.Duration) error {
	worker := int64(0)
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			e := all[i]
			if e.contestant.Open == nil {
				continue
			}
			worker++
			src, err := e.contestant.Open(ctx, worker)
			if err != nil {
				return fmt.Errorf("%s: %w", e.contestant.Name, err)
			}
			lap, err := load.Run(ctx, e.goroutines, src, d)
			if err := errors.Join(err, src.Close()); err != nil {
				return fmt.Errorf("%s: %w", e.contestant.Name, err)
			}
			e.laps = append(e.laps, lap)
		}
	}
	return nil
}

// A row is an event: medians over the rounds, 0 for an event without laps.
type row struct {
	contestants.Contestant
	Goroutines int
	Ns         float64 // wall time per ID, all goroutines together
	Ratio      float64 // to the atomic add on as many goroutines in the same round
	CPUs       float64 // that the process had
}

// compared turns laps into rows.
func compared(all []*event) (rows []row) {
	adds := make(map[int][]load.Lap)
	for _, e := range all {
		if e.contestant.Name == contestants.AtomicAdd {
			adds[e.goroutines] = e.laps
		}
	}
	for _, e := range all {
		r := row{Contestant: e.contestant, Goroutines: e.goroutines}
		var ns, ratios, cpus []float64
		for i, lap := range e.laps {
			ns, ratios, cpus = append(ns, lap.Ns()), append(ratios, lap.Ns()/adds[e.goroutines][i].Ns()), append(cpus, lap.CPUs())
		}
		if len(ns) > 0 {
			r.Ns, r.Ratio, r.CPUs = report.Median(ns), report.Median(ratios), report.Median(cpus)
		}
		rows = append(rows, r)
	}
	return rows
}

// find returns the row of a contestant, or a row without figures.
func (c *comparison) find(name string, goroutines int) row {
	i := slices.IndexFunc(c.rows, func(r row) bool { return r.Name == name && r.Goroutines == goroutines })
	if i < 0 {
		return row{}
	}
	return c.rows[i]
}

// starved returns a warning if the machine had too little CPU time for the atomic add, which
// never waits.
func starved(rows []row) string {
	for _, r := range rows {
		want := float64(min(r.Goroutines, runtime.GOMAXPROCS(0)))
		if r.Name == contestants.AtomicAdd && r.CPUs > 0 && r.CPUs < 0.85*want {
			return fmt.Sprintf("Other programs used the machine: the atomic add on %s had %.1f of %.0f CPUs. Times are too long, and ratios unsure.",
				report.Goroutines(r.Goroutines), r.CPUs, want)
		}
	}
	return ""
}

func (c *comparison) print(p *report.Page) {
	p.Facts(c.Facts)
	if note := starved(c.rows); note != "" {
		p.Text("%s", note)
	}
	p.Picture("compare.svg", "Bar chart: wall time per ID of this library, other libraries and baselines on one goroutine")
	p.Text("Wall time per ID, all goroutines together, and its ratio to an atomic add on as many goroutines in the same round. Medians of\n"+
		"%d rounds of laps of %v, all contestants in random order in each. A contestant that the format of its IDs caps waits for\n"+
		"time to pass. A dash: the cap is too low to show in a lap. If a library has an option for a wider format, both are here.", c.rounds, c.lap)
	for _, kind := range []string{contestants.Own, contestants.Others, contestants.Baselines} {
		p.Table(c.speeds(kind))
	}
	p.Title("Sustained rates")
	p.Text("IDs a second that one generator can keep up for ever. A format with a time in its IDs bounds them: the default one, which may\n" +
		"have fewer worker IDs, and the widest one with room for 4,096 worker IDs and 60 years in 63 bits. Where the format does not bound\n" +
		"them, the figure was measured on one goroutine. A burst is faster, and moves the time in the IDs ahead of the clock.")
	p.Table(c.sustained())
	p.Title("Properties")
	p.Text("IDs that are taken faster than the format has them wait for the clock, or their time runs ahead of it. Go's own package uuid is\n" +
		"in the table if the program is built with Go 1.27 or later.")
	p.Table(c.properties())
	p.Title("Many goroutines")
	p.Table(c.crowds())
}

// speeds is the table of a kind.
func (c *comparison) speeds(kind string) *report.Table {
	t := report.NewTable(kind, "1 goroutine", "× add")
	if c.GOMAXPROCS > 1 {
		t.Head = append(t.Head, report.Goroutines(c.GOMAXPROCS), "× add")
	}
	t.Head = append(t.Head, "capped at")
	for _, first := range c.rows {
		if first.Kind != kind || first.Goroutines != 1 {
			continue
		}
		cells := append([]string{first.Name}, first.speed()...)
		if c.GOMAXPROCS > 1 {
			cells = append(cells, c.find(first.Name, c.GOMAXPROCS).speed()...)
		}
		t.Add(append(cells, first.limit())...)
	}
	return t
}

// speed returns the time and the ratio; a ratio of waiting would mean nothing.
func (r row) speed() []string {
	switch {
	case r.Ns == 0:
		return []string{report.None, report.None}
	case r.PerSecond > 0:
		return []string{report.Ns(r.Ns), "capped"}
	}
	return []string{report.Ns(r.Ns), report.Figure(r.Ratio)}
}

func (r row) limit() string {
	if r.PerSecond == 0 {
		return ""
	}
	return report.Comma(int64(r.PerSecond)) + "/s"
}

// sustained is the table of the rates that generators can keep up.
func (c *comparison) sustained() *report.Table {
	t := report.NewTable("IDs a second, sustained", "default format", "4,096 worker IDs, 60 years, 63 bits", "burst")
	for _, r := range c.rows {
		if r.Rate == nil || r.Goroutines != 1 {
			continue
		}
		measured := report.Millions(1e9 / r.Ns)
		usual, comparable, burst := measured, measured, report.None
		if r.Rate.Default > 0 {
			usual, comparable = report.Comma(r.Rate.Default), report.Comma(r.Rate.Comparable)
			if r.PerSecond == 0 {
				burst = measured
			}
		}
		if r.Bits > 63 {
			comparable = report.None
		}
		t.Add(r.Rate.Name, usual, comparable, burst)
	}
	return t
}

// properties is the table of the IDs' properties.
func (c *comparison) properties() *report.Table {
	t := report.NewTable("", "bits", "order in a process", "processes kept apart by", "time ahead of the clock", "note")
	t.Left = len(t.Head)
	for _, r := range c.rows {
		if r.Goroutines == 1 && r.Bits > 0 {
			t.Add(r.Name, strconv.Itoa(r.Bits), r.Order, r.Worker, r.Ahead, r.Note)
		}
	}
	return t
}

// crowds is the table by number of goroutines.
func (c *comparison) crowds() *report.Table {
	t := report.NewTable("")
	for _, r := range c.rows {
		if r.Name == contestants.AtomicAdd {
			t.Head = append(t.Head, report.Goroutines(r.Goroutines))
		}
		if !r.Crowd || r.Ns == 0 {
			continue
		}
		if r.Goroutines == 1 {
			t.Add(r.Name)
		}
		last := &t.Rows[len(t.Rows)-1]
		*last = append(*last, report.Ns(r.Ns))
	}
	return t
}

// short is the table of README.md.
func (c *comparison) short() *report.Table {
	t := report.NewTable("time per ID, ratio to an atomic add", "1 goroutine", report.Goroutines(c.GOMAXPROCS))
	t.Left = 3
	for _, name := range []string{contestants.AtomicAdd, contestants.MutexCounter, "Next", "Lane.Next"} {
		cells := []string{name}
		if strings.HasSuffix(name, "Next") {
			cells[0] = "`" + name + "`"
		}
		for _, n := range []int{1, c.GOMAXPROCS} {
			r := c.find(name, n)
			text := report.Ns(r.Ns)
			if name != contestants.AtomicAdd {
				text += ", " + report.Figure(r.Ratio) + " ×"
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
	}
	return t
}

// shown is the time of a row in the bar chart: the time that the cap allows where nothing was
// measured.
func (r row) shown() float64 {
	if r.Ns == 0 && r.PerSecond > 0 {
		return 1e9 / r.PerSecond
	}
	return cmp.Or(r.Ns, 1)
}
