package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
)

// A comparison is the result of compare.
type comparison struct {
	report.Facts
	results
	costs  *report.Table
	rounds int
	lap    time.Duration
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

// crowd is more goroutines than a small machine has CPUs.
const crowd = 8

// run measures all contestants, some of them also on many goroutines, and then the costs.
func (c *comparison) run(ctx context.Context, command string) (err error) {
	if c.rounds < 1 || c.lap <= 0 {
		return fmt.Errorf("-rounds %d, -lap %v; allowed: at least 1, above 0", c.rounds, c.lap)
	}
	c.Facts = report.NewFacts(command)
	c.results = events(contestants.All(), runtime.GOMAXPROCS(0), []int{crowd, 64, 1024})
	if err := hold(ctx, c.results, c.rounds, c.lap); err != nil {
		return err
	}
	c.costs, err = costs(ctx, c.idle())
	return err
}

// idle is the time in which the cost of idle generators is measured: with laps of 100 ms, two
// times MaxStaleness.
func (c *comparison) idle() time.Duration { return 40 * c.lap }

// An event is a contestant on a number of goroutines, with the lap of each round.
type event struct {
	contestants.Contestant
	goroutines int
	laps       []load.Lap
}

// ns returns the wall time per ID, all goroutines together: the median of the laps, 0 without laps.
func (e *event) ns() float64 { return report.Median(e.each(load.Lap.Ns)) }

// cpus returns the number of CPUs that the process had.
func (e *event) cpus() float64 { return report.Median(e.each(load.Lap.CPUs)) }

func (e *event) each(figure func(load.Lap) float64) (all []float64) {
	for _, lap := range e.laps {
		all = append(all, figure(lap))
	}
	return all
}

// ratio returns the time of an ID as a multiple of its time in another event: the median of the
// ratios of each round.
func (e *event) ratio(to *event) float64 {
	ratios := e.each(load.Lap.Ns)
	for i := range ratios {
		ratios[i] /= to.laps[i].Ns()
	}
	return report.Median(ratios)
}

// results are events of the same rounds.
type results []*event

// events returns every contestant on 1 goroutine and on cpus, and some also on many.
func events(list []contestants.Contestant, cpus int, many []int) (all results) {
	for _, c := range list {
		counts := []int{1, cpus}
		if c.Crowd {
			counts = append(counts, many...)
		}
		slices.Sort(counts)
		for _, n := range slices.Compact(counts) {
			all = append(all, &event{Contestant: c, goroutines: n})
		}
	}
	return all
}

// hold runs the events in rounds. In each round every event has a lap of length d, in random
// order, so that disturbances of the machine hit all contestants alike.
func hold(ctx context.Context, all results, rounds int, d time.Duration) error {
	worker := int64(0)
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			e := all[i]
			if e.Open == nil {
				continue
			}
			worker++
			src, err := e.Open(ctx, worker)
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			lap, err := load.Run(ctx, e.goroutines, src, d)
			if err := errors.Join(err, src.Close()); err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			e.laps = append(e.laps, lap)
		}
	}
	return nil
}

// find returns the event of a contestant, which must be there.
func (all results) find(name string, goroutines int) *event {
	return all[slices.IndexFunc(all, func(e *event) bool { return e.Name == name && e.goroutines == goroutines })]
}

// timesAdd returns the ratio of an event to the atomic add on as many goroutines.
func (all results) timesAdd(e *event) float64 {
	return e.ratio(all.find(contestants.AtomicAdd, e.goroutines))
}

// alone returns the events on 1 goroutine: one for each contestant.
func (all results) alone() results {
	return slices.DeleteFunc(slices.Clone(all), func(e *event) bool { return e.goroutines != 1 })
}

// starved returns a warning if the machine had too little CPU time for the atomic add, which
// never waits.
func (all results) starved() string {
	for _, e := range all {
		want := float64(min(e.goroutines, runtime.GOMAXPROCS(0)))
		if cpus := e.cpus(); e.Name == contestants.AtomicAdd && cpus > 0 && cpus < 0.85*want {
			return fmt.Sprintf("Other programs used the machine: the atomic add on %s had %.1f of %.0f CPUs. Times are too long, and ratios unsure.",
				report.Goroutines(e.goroutines), cpus, want)
		}
	}
	return ""
}

func (c *comparison) print(p *report.Page) {
	p.Facts(c.Facts)
	p.Note(c.starved())
	if p.Markdown {
		p.Text("<img src=\"compare.svg\" width=\"860\" alt=\"Bar chart: wall time per ID of this library, other libraries and baselines on one goroutine\">")
	}
	p.Text("Wall time per ID, all goroutines together, and its ratio to an atomic add on as many goroutines in the same round. Medians of\n"+
		"%d rounds of laps of %v, all contestants in random order in each. A contestant that the format of its IDs caps waits for\n"+
		"time to pass; rs/xid would repeat IDs. A dash: the cap is too low to show in a lap. If a library has an option for a wider format, both are here.", c.rounds, c.lap)
	for _, kind := range contestants.Kinds {
		p.Table(c.speeds(kind))
	}
	p.Text("The bars that this library has to meet, each a median of the ratios of the same rounds:")
	p.Table(c.bars())
	p.Title("Sustained rates")
	p.Text("IDs a second that one generator can keep up for ever. A format with a time in its IDs bounds them: the default one, which may\n" +
		"have fewer worker IDs, and the widest one with 4,096 worker IDs, 60 years, 63 bits and a unit that divides a second. Where the format\n" +
		"does not bound them, the figure was measured on one goroutine. A burst is faster, and moves the time in the IDs ahead of the clock.")
	p.Table(c.sustained())
	p.Title("Properties")
	p.Text("IDs that are taken faster than the format has them wait for the clock, or their time runs ahead of it. Go's own package uuid is\n" +
		"in the table if the program is built with Go 1.27 or later.")
	p.Table(c.properties())
	p.Title("Many goroutines")
	p.Table(c.crowds())
	p.Title("Cost of a generator")
	p.Text("Of %s generators in one process, without callers, for %v: the memory and the goroutines of each, and the CPU time that it\n"+
		"takes in a second. Their worker IDs and ranges come from the memory of the process: a store adds its client.", report.Comma(idlers), c.idle())
	p.Table(c.costs)
}

// counts are the numbers of goroutines in most tables.
func (c *comparison) counts() []int { return slices.Compact([]int{1, c.GOMAXPROCS}) }

// speeds is the table of a kind.
func (c *comparison) speeds(kind string) *report.Table {
	t := report.NewTable(kind)
	for _, n := range c.counts() {
		t.Head = append(t.Head, report.Goroutines(n), "× add")
	}
	t.Head = append(t.Head, "capped at")
	for _, first := range c.alone() {
		if first.Kind != kind {
			continue
		}
		cells := []string{first.Name}
		for _, n := range c.counts() {
			e := c.find(first.Name, n)
			ratio := report.Figure(c.timesAdd(e))
			if e.PerSecond > 0 && e.Ahead == contestants.Waits && e.laps != nil {
				ratio = "capped" // the ratio of waiting would mean nothing
			}
			cells = append(cells, report.Ns(e.ns()), ratio)
		}
		t.Add(append(cells, first.limit())...)
	}
	return t
}

func (e *event) limit() string {
	if e.PerSecond == 0 {
		return ""
	}
	return report.Comma(int64(e.PerSecond)) + "/s"
}

// bars is the table of the most that an ID may cost, as a multiple of another contestant.
func (c *comparison) bars() *report.Table {
	t := report.NewTable("bar", "at most", "measured", "holds")
	const one, all = 0, 1
	for _, bar := range []struct {
		name, than string
		goroutines int
		most       float64
	}{
		{contestants.Next, contestants.Wuid, one, 1.1},
		{contestants.Next, contestants.Wuid, all, 0.8},
		{contestants.LaneNext, contestants.CalledAdd, all, 0.45},
		{contestants.Fill, contestants.FilledSlice, one, 1.5},
		{contestants.Defaultgen, contestants.BwmarrinWide, one, 1},
		{contestants.Defaultgen, contestants.BwmarrinWide, all, 1},
	} {
		counts := c.counts()
		if bar.goroutines >= len(counts) {
			continue // a single CPU
		}
		n := counts[bar.goroutines]
		ratio := c.find(bar.name, n).ratio(c.find(bar.than, n))
		holds := map[bool]string{true: "yes", false: "no"}[ratio <= bar.most]
		t.Add(fmt.Sprintf("%s on %s ÷ %s", bar.name, report.Goroutines(n), bar.than), report.Figure(bar.most), report.Figure(ratio), holds)
	}
	return t
}

// sustained is the table of the rates that generators can keep up.
func (c *comparison) sustained() *report.Table {
	t := report.NewTable("IDs a second, sustained", "default format", "4,096 worker IDs, 60 years, 63 bits", "burst")
	for _, e := range c.alone() {
		if e.Rate == nil {
			continue
		}
		measured := report.Millions(1e9 / e.ns())
		usual, comparable, burst := measured, measured, report.None
		if e.Rate.Default > 0 {
			usual, comparable = report.Comma(e.Rate.Default), report.Comma(e.Rate.Comparable)
			if e.PerSecond == 0 {
				burst = measured
			}
		}
		if e.Bits > 63 {
			comparable = report.None
		}
		t.Add(e.Rate.Name, usual, comparable, burst)
	}
	return t
}

// properties is the table of the IDs' properties.
func (c *comparison) properties() *report.Table {
	t := report.NewTable("", "bits", "order in a process", "processes kept apart by", "time ahead of the clock", "note")
	t.Left = len(t.Head)
	for _, e := range c.alone() {
		if e.Bits > 0 {
			t.Add(e.Name, strconv.Itoa(e.Bits), e.Order, e.Worker, e.Ahead, e.Note)
		}
	}
	return t
}

// crowds is the table by number of goroutines.
func (c *comparison) crowds() *report.Table {
	t := report.NewTable("")
	for _, e := range c.results {
		if e.Name == contestants.AtomicAdd {
			t.Head = append(t.Head, report.Goroutines(e.goroutines))
		}
		if !e.Crowd {
			continue
		}
		if e.goroutines == 1 {
			t.Add(e.Name)
		}
		last := &t.Rows[len(t.Rows)-1]
		*last = append(*last, report.Ns(e.ns()))
	}
	return t
}

// short is the table of README.md.
func (c *comparison) short() *report.Table {
	t := report.NewTable("time per ID, ratio to an atomic add")
	counts := []int{1, c.GOMAXPROCS, crowd}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	for _, n := range counts {
		t.Head = append(t.Head, report.Goroutines(n))
	}
	t.Left = len(t.Head)
	for _, row := range [][2]string{
		{contestants.AtomicAdd, contestants.AtomicAdd}, {contestants.MutexCounter, contestants.MutexCounter},
		{contestants.Next, "`Next`"}, {contestants.LaneNext, "`Lane.Next`"},
	} {
		cells := []string{row[1]}
		for _, n := range counts {
			e := c.find(row[0], n)
			text := report.Ns(e.ns())
			if e.Name != contestants.AtomicAdd {
				text += ", " + report.Figure(c.timesAdd(e)) + " ×"
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
	}
	return t
}
