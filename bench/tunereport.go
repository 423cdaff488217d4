package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
)

// String returns the setting as in a table.
func (s *setting) String() string {
	text := fmt.Sprintf("%d, %d %%", s.boost, s.padding)
	if s.interval > 0 {
		text += ", every " + s.interval.String()
	}
	return text
}

// lower reports whether a is below b beyond doubt: its median by a fifth, and its laps in 90 % of
// the comparisons of a lap with a lap. With 7 laps each, chance alone does that once in 290 times.
func lower(a, b []float64) bool {
	won := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x < y:
				won++
			case x == y:
				won += 0.5
			}
		}
	}
	return won >= 0.9*float64(len(a)*len(b)) && report.Median(a) <= 0.8*report.Median(b)
}

// A phase is a part of each lap.
type phase struct {
	name, load string
	of         func(*setting) *figures
}

// phases returns the steady load, and the bursts if there are any.
func (t *tuning) phases() []phase {
	steady := phase{"at the steady rate", report.Comma(t.rate) + " IDs a second", func(s *setting) *figures { return &s.steady }}
	if t.burst.ids == 0 {
		return []phase{steady}
	}
	bursts := fmt.Sprintf("bursts of %s IDs in %v", report.Comma(t.burst.ids), t.burst.within)
	return []phase{steady, {"in bursts", bursts, func(s *setting) *figures { return &s.burst }}}
}

// A criterion is a figure that a setting may improve.
type criterion struct {
	phase
	figure int
}

func (c criterion) laps(s *setting) []float64 { return c.of(s)[c.figure] }
func (c criterion) median(s *setting) float64 { return report.Median(c.laps(s)) }

// text writes a value.
func (c criterion) text(n float64) string {
	if c.figure == rejected {
		return perMillion(n)
	}
	return report.Ns(n)
}

// figureNames are the names of the figures that may decide.
var figureNames = map[int]string{rejected: "rejected takes per million calls", p999: "p99.9", p9999: "p99.99", longest: "the longest call"}

// criteria returns the figures by their weight: a rejected take is an error, a slow call is not.
// Of the two phases the bursts come first.
func (t *tuning) criteria() (errors []criterion) {
	var times []criterion
	for _, p := range slices.Backward(t.phases()) {
		errors = append(errors, criterion{p, rejected})
		times = append(times, t.slowest(p))
	}
	return append(errors, times...)
}

// slowest returns the highest percentile that a phase has enough calls for.
func (t *tuning) slowest(p phase) criterion {
	f := p.of(t.settings[0])
	for _, figure := range []int{p9999, p999} {
		if slices.Min(f[figure]) > 0 {
			return criterion{p, figure}
		}
	}
	return criterion{p, longest}
}

// recommend returns a setting and the reason: the smallest ring that is no worse than the best one,
// by the first criterion in which a ring is better than the defaults. Without such a criterion it
// returns the defaults.
func (t *tuning) recommend() (*setting, string) {
	keep := t.settings[0]
	for _, c := range t.criteria() {
		better := slices.DeleteFunc(slices.Clone(t.settings), func(s *setting) bool { return !lower(c.laps(s), c.laps(keep)) })
		if len(better) == 0 {
			continue
		}
		most := func(s *setting) float64 { return slices.Max(c.laps(s)) }
		best := slices.MinFunc(better, func(a, b *setting) int {
			return cmp.Or(cmp.Compare(c.median(a), c.median(b)), cmp.Compare(most(a), most(b)))
		})
		for _, s := range better { // by size
			errors := most(best) == 0 && most(s) > 0
			if !errors && !lower(c.laps(best), c.laps(s)) {
				return s, fmt.Sprintf("%s %s: %s, %s with the defaults", figureNames[c.figure], c.name, span(c.laps(s), c.text), span(c.laps(keep), c.text))
			}
		}
	}
	return keep, fmt.Sprintf("no setting is better by a fifth, in nine of ten comparisons of its %d laps with theirs", tuneRounds)
}

// span writes the median and the range of a figure.
func span(laps []float64, text func(float64) string) string {
	least, middle, most := text(slices.Min(laps)), text(report.Median(laps)), text(slices.Max(laps))
	if least == most {
		return middle
	}
	return fmt.Sprintf("%s (%s to %s)", middle, least, most)
}

func perMillion(n float64) string {
	if n == 0 {
		return "0"
	}
	return report.Figure(n)
}

// ahead writes the median, rounded up to the unit in progress.
func (t *tuning) ahead(laps []float64) string {
	unit := min(t.layout.Unit, time.Second)
	return (time.Duration(report.Median(laps)) + unit - 1).Truncate(unit).String()
}

func (t *tuning) print(p *report.Page) {
	policy := map[string]string{"inline": "puts a block", "reject": "gets ErrEmpty"}[t.onEmpty]
	p.Facts(t.facts)
	p.Text("layout %v, %s; a caller that finds the ring empty %s. Medians of %d laps with their range;\npads and rejected takes are per million calls; times include reading the clock.",
		t.layout, report.Goroutines(t.goroutines), policy, tuneRounds)
	for i, phase := range t.phases() {
		idle := i == 0
		if idle {
			phase.load += ", and an idle process"
		}
		p.Title(phase.load)
		p.Table(t.table(phase, idle))
	}
	table := report.NewTable("full speed, other settings as by default", "IDs per second", "slowest and fastest lap")
	for _, e := range t.flatOut {
		rates := e.each(func(lap load.Lap) float64 { return 1e9 / lap.Ns() })
		table.Add(e.Name, report.Millions(report.Median(rates)), report.Millions(slices.Min(rates))+", "+report.Millions(slices.Max(rates)))
	}
	p.Table(table)
	p.Text("%s", t.advice())
}

// table is the table of a phase; idle adds the memory.
func (t *tuning) table(p phase, idle bool) *report.Table {
	table := report.NewTable("BoostPower, PaddingFactor", "inline pads", "rejected", "p99.9", "p99.99", "longest", "ahead")
	if idle {
		table.Head = append(table.Head, "memory")
	}
	for _, s := range t.settings {
		f := p.of(s)
		row := []string{s.String(), span(f[pads], perMillion), span(f[rejected], perMillion)}
		for figure := p999; figure <= longest; figure++ {
			laps := f[figure]
			if figure != t.slowest(p).figure {
				laps = []float64{report.Median(laps)}
			}
			row = append(row, span(laps, report.Ns))
		}
		row = append(row, t.ahead(f[ahead]))
		if idle {
			row = append(row, report.KiB(s.heap))
		}
		table.Add(row...)
	}
	return table
}

// busy returns a line if other programs used the CPUs.
func (t *tuning) busy() string {
	var cpus []float64
	for _, e := range t.flatOut {
		if e.goroutines >= t.facts.GOMAXPROCS {
			cpus = append(cpus, e.each(load.Lap.CPUs)...)
		}
	}
	had := report.Median(cpus)
	if had == 0 || had >= 0.8*float64(t.facts.GOMAXPROCS) { // 0: the system does not report it
		return ""
	}
	return fmt.Sprintf("Other programs used the machine: laps at full speed had %.1f of %s. Differences are harder to see.\n",
		had, report.Counted(t.facts.GOMAXPROCS, "CPU"))
}

// advice returns the recommended setting with its reason, and warnings of a busy machine and of a
// layout that is too narrow for the load.
func (t *tuning) advice() string {
	text := t.busy()
	if perUnit := float64(t.rate) * t.layout.Unit.Seconds(); perUnit > float64(int64(1)<<t.layout.SequenceBits) {
		text += fmt.Sprintf("Choose more sequence bits: %s IDs in each unit (%v) are %.1f times 2^%d, so ID time runs away from the clock with any ring.\n",
			report.Comma(int64(perUnit)), t.layout.Unit, perUnit/float64(int64(1)<<t.layout.SequenceBits), t.layout.SequenceBits)
	}
	best, reason := t.recommend()
	if best == t.settings[0] {
		return text + "Keep the defaults: " + reason + "."
	}
	schedule := ""
	if best.interval > 0 {
		schedule = ", ScheduleInterval " + best.interval.String()
	}
	return text + fmt.Sprintf("BoostPower %d, PaddingFactor %d%s: %s. Price: an idle process is %s ahead of the clock instead of %s.",
		best.boost, best.padding, schedule, reason, t.ahead(best.steady[ahead]), t.ahead(t.settings[0].steady[ahead]))
}

// figure is the chart: a bar for each pair, from the time of the defaults to its own.
func (t *tuning) figure() chart.Figure {
	phases := t.phases()
	main := phases[len(phases)-1] // the bars; with bursts, dots show the steady load
	times := t.slowest(main)
	best, _ := t.recommend()
	same, apart, chosen := chart.Style{Color: "#8c8c8c", Hollow: true}, chart.Style{Color: "#0072b2"}, chart.Style{Color: "#d55e00"}
	f := chart.Figure{
		Title:    "Slow calls and ID time ahead, by BoostPower and PaddingFactor",
		Subtitle: fmt.Sprintf("%s, layout %v; medians of %d laps; ahead: an idle process", main.load, t.layout, tuneRounds),
		Scale:    figureNames[times.figure] + " of single calls (logarithmic)",
		Begin:    1, // left of all bars
		Keys:     []chart.Key{{Text: "recommended", Style: chosen}, {Text: "differs from the defaults", Style: apart}, {Text: "no difference measured", Style: same}},
		Caption:  append([]string{"go run ./" + t.facts.Command, t.facts.String()}, strings.Split(strings.ReplaceAll(t.advice(), ". ", ".\n"), "\n")...),
	}
	for _, s := range slices.Backward(t.settings) {
		b := chart.Bar{Name: fmt.Sprintf("%v: %s ahead", s, t.ahead(s.steady[ahead])), End: times.median(s), Style: same}
		b.Text = report.Ns(b.End)
		if t.onEmpty == "reject" {
			b.Text += fmt.Sprintf(" · %.2g %% rejected", report.Median(main.of(s)[rejected])/1e4)
		}
		for _, c := range t.criteria() {
			if own, keep := c.laps(s), c.laps(t.settings[0]); lower(own, keep) || lower(keep, own) {
				b.Style = apart
			}
		}
		if s == best {
			b.Style = chosen
		}
		if len(phases) > 1 {
			b.Dot = t.slowest(phases[0]).median(s)
		}
		f.Bars = append(f.Bars, b)
	}
	if len(phases) > 1 {
		f.Keys = append(f.Keys, chart.Key{Text: phases[0].name, Dot: true})
	}
	return f
}
