package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/chart"
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

// slowest returns the highest percentile that the phase has, and its name.
func (p *phase) slowest() (laps []float64, name string) {
	switch {
	case slices.Min(p.p9999) > 0:
		return p.p9999, "p99.99"
	case slices.Min(p.p999) > 0:
		return p.p999, "p99.9"
	}
	return p.most, "the longest call"
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

// A criterion is a figure that a setting may improve.
type criterion struct {
	name string
	laps func(*setting) []float64
	text func(float64) string
}

// criteria returns the figures by their weight: a rejected take is an error, a slow call is not.
func (t *tuning) criteria() []criterion {
	var errors, times []criterion
	add := func(load string, get func(*setting) *phase) {
		_, name := get(t.settings[0]).slowest()
		errors = append(errors, criterion{"rejected takes per million calls " + load,
			func(s *setting) []float64 { return get(s).rejected }, perMillion})
		times = append(times, criterion{name + " " + load,
			func(s *setting) []float64 { laps, _ := get(s).slowest(); return laps }, report.Ns})
	}
	if t.burst.ids > 0 {
		add("in bursts", func(s *setting) *phase { return &s.burst })
	}
	add("at the steady rate", func(s *setting) *phase { return &s.steady })
	return append(errors, times...)
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
		median := func(s *setting) float64 { return report.Median(c.laps(s)) }
		most := func(s *setting) float64 { return slices.Max(c.laps(s)) }
		best := slices.MinFunc(better, func(a, b *setting) int {
			return cmp.Or(cmp.Compare(median(a), median(b)), cmp.Compare(most(a), most(b)))
		})
		for _, s := range better { // by size
			errors := most(best) == 0 && most(s) > 0
			if !errors && !lower(c.laps(best), c.laps(s)) {
				return s, fmt.Sprintf("%s: %s, %s with the defaults", c.name, span(c.laps(s), c.text), span(c.laps(keep), c.text))
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

func nanoseconds(n float64) string {
	if n == 0 {
		return report.None
	}
	return report.Ns(n)
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
	head := []string{"BoostPower, PaddingFactor", "inline pads", "rejected", "p99.9", "p99.99", "longest", "ahead", "memory"}
	t.table(p, fmt.Sprintf("%s IDs a second, and an idle process", report.Comma(t.rate)), head, func(s *setting) (*phase, string, string) {
		return &s.steady, t.ahead(s.idle), fmt.Sprintf("%.1f KiB", float64(s.heap)/1024)
	})
	if t.burst.ids > 0 {
		t.table(p, fmt.Sprintf("bursts of %s IDs in %v", report.Comma(t.burst.ids), t.burst.within), head[:7], func(s *setting) (*phase, string, string) {
			return &s.burst, t.ahead(s.after), ""
		})
	}
	table := report.NewTable("full speed, other settings as by default", "IDs per second", "slowest and fastest lap")
	for _, e := range t.flatOut {
		var rates []float64
		for _, lap := range e.laps {
			rates = append(rates, 1e9/lap.Ns())
		}
		table.Add(e.contestant.Name, report.Millions(report.Median(rates)), report.Millions(slices.Min(rates))+", "+report.Millions(slices.Max(rates)))
	}
	p.Table(table)
	p.Text("%s", t.advice())
}

// table writes a table of one phase. The last cell is empty if the head has no room for it.
func (t *tuning) table(p *report.Page, title string, head []string, cells func(*setting) (f *phase, ahead, memory string)) {
	p.Title(title)
	table := report.NewTable(head...)
	for _, s := range t.settings {
		f, ahead, memory := cells(s)
		row := []string{s.String(), span(f.pads, perMillion), span(f.rejected, perMillion)}
		decisive, _ := f.slowest()
		for _, laps := range [][]float64{f.p999, f.p9999, f.most} {
			if &laps[0] != &decisive[0] {
				laps = []float64{report.Median(laps)}
			}
			row = append(row, span(laps, nanoseconds))
		}
		table.Add(append(row, ahead, memory)[:len(head)]...)
	}
	p.Table(table)
}

// busy returns a line if other programs used the CPUs.
func (t *tuning) busy() string {
	var cpus []float64
	for _, e := range t.flatOut {
		for _, lap := range e.laps {
			if e.goroutines >= t.facts.GOMAXPROCS && lap.CPU > 0 {
				cpus = append(cpus, lap.CPUs())
			}
		}
	}
	if len(cpus) == 0 || report.Median(cpus) >= 0.8*float64(t.facts.GOMAXPROCS) {
		return ""
	}
	return fmt.Sprintf("Other programs used the machine: laps at full speed had %.1f of %s. Differences are harder to see.\n",
		report.Median(cpus), report.Counted(t.facts.GOMAXPROCS, "CPU"))
}

// advice returns the recommended setting with its reason, and warnings of a busy machine and of a
// layout that is too narrow for the load.
func (t *tuning) advice() string {
	text := t.busy()
	if perUnit := float64(t.rate) * t.layout.Unit.Seconds(); perUnit > float64(int64(1)<<t.layout.SequenceBits) {
		text += fmt.Sprintf("Choose more sequence bits: %s IDs a %v are %.1f times 2^%d, so ID time runs away from the clock with any ring.\n",
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
		best.boost, best.padding, schedule, reason, t.ahead(best.idle), t.ahead(t.settings[0].idle))
}

// figure is the chart: a bar for each pair, from the time of the defaults to its own.
func (t *tuning) figure() chart.Figure {
	main, other, load := func(s *setting) *phase { return &s.steady }, func(*setting) *phase { return nil }, report.Comma(t.rate)+" IDs a second"
	if t.burst.ids > 0 {
		main, other, load = func(s *setting) *phase { return &s.burst }, main, fmt.Sprintf("bursts of %s IDs in %v", report.Comma(t.burst.ids), t.burst.within)
	}
	time := func(s *setting) float64 { laps, _ := main(s).slowest(); return report.Median(laps) }
	_, name := main(t.settings[0]).slowest()
	best, _ := t.recommend()
	same, apart, chosen := chart.Style{Color: "#8c8c8c", Hollow: true}, chart.Style{Color: "#0072b2"}, chart.Style{Color: "#d55e00"}
	f := chart.Figure{
		Title:    "Slow calls and ID time ahead, by BoostPower and PaddingFactor",
		Subtitle: fmt.Sprintf("%s, layout %v; medians of %d laps; ahead: an idle process", load, t.layout, tuneRounds),
		Scale:    name + " of single calls (logarithmic)",
		Begin:    1, // left of all bars
		Keys:     []chart.Key{{Text: "recommended", Style: chosen}, {Text: "differs from the defaults", Style: apart}, {Text: "no difference measured", Style: same}},
		Caption:  append([]string{"go run ./" + t.facts.Command, t.facts.String()}, strings.Split(strings.ReplaceAll(t.advice(), ". ", ".\n"), "\n")...),
	}
	for _, s := range slices.Backward(t.settings) {
		b := chart.Bar{Name: fmt.Sprintf("%v: %s ahead", s, t.ahead(s.idle)), End: time(s), Style: same}
		b.Text = report.Ns(b.End)
		if t.onEmpty == "reject" {
			b.Text += fmt.Sprintf(" · %.2g %% rejected", report.Median(main(s).rejected)/1e4)
		}
		for _, c := range t.criteria() {
			if own, keep := c.laps(s), c.laps(t.settings[0]); lower(own, keep) || lower(keep, own) {
				b.Style = apart
			}
		}
		if s == best {
			b.Style = chosen
		}
		if p := other(s); p != nil {
			laps, _ := p.slowest()
			b.Dot = report.Median(laps)
		}
		f.Bars = append(f.Bars, b)
	}
	if t.burst.ids > 0 {
		f.Keys = append(f.Keys, chart.Key{Text: "at the steady rate", Dot: true})
	}
	return f
}
