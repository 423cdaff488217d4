package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A page is written as Markdown. Its errors show up in Flush.
type page struct {
	*bufio.Writer
	results results
}

// writeMarkdown writes the text of the report.
func (r results) writeMarkdown(w io.Writer) error {
	p := page{bufio.NewWriter(w), r}
	m := r.Compare.Machine
	p.text(`# Benchmarks

Written by ` + "`go run ./" + r.Command + "`" + fmt.Sprintf(` on %s (%s, GOMAXPROCS %d), %s %s/%s, %s. Under each heading is the
command that measures that part alone. Figures of one table belong together: what is compared had its laps in turns, so
that a noisy machine is noisy for all. Read ratios rather than nanoseconds.`, m.CPU, counted(int64(m.CPUs), "CPU"), m.GOMAXPROCS,
		m.GoVersion, m.OS, m.Arch, r.Compare.Date.Format("2006-01-02")))
	for _, part := range [...]func(page) error{page.compare, page.sweep, page.tail, page.soak} {
		if err := part(p); err != nil {
			return err
		}
	}
	return p.Flush()
}

func (p page) text(text string) { fmt.Fprintf(p, "%s\n\n", text) }

// head begins a part.
func (p page) head(title string, f facts, csv string) {
	p.text("## " + title)
	p.text(fmt.Sprintf("`go run ./%s`, %s; all figures: [%s](%s).", f.Command, f.Date.Format("2006-01-02 15:04 MST"), csv, csv))
}

func (p page) picture(name string) {
	list := p.results.pictures()
	pic := list[slices.IndexFunc(list, func(p picture) bool { return p.name == name })]
	p.text(fmt.Sprintf("<img src=%q width=\"860\" alt=%q>", pic.name+".svg", pic.alt))
}

func (p page) sheet(s *sheet) error {
	if err := s.writeMarkdown(p); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p)
	return err
}

func (p page) compare() error {
	c := p.results.Compare
	p.head("Beside other libraries", c.facts, "compare.csv")
	p.picture("compare")
	p.text(fmt.Sprintf(`Wall time per ID of all goroutines together and CPU time of the whole process per ID, each with its ratio to an atomic add on
one goroutine in the same round. Medians of %d rounds of laps of %g ms, all contestants in random order in each. What is
capped by the format of its IDs waits for time to pass: there the figure is the cap, not the code. A dash: the cap is too low to show
in a lap. Where a library lets one widen the format, there is a line for that, too.`, c.Rounds, c.LapMs))
	if note := c.starved(); note != "" {
		p.text("**" + note + "**")
	}
	for _, kind := range kinds() {
		if err := p.sheet(c.speeds(kind)); err != nil {
			return err
		}
	}
	p.text(`What one gets. Taken faster than the format has them, IDs either wait for the clock, or their time runs ahead of it. Go's own package uuid is
there when the program is built with Go 1.27 or later. bytentropy/snowflake, a compare-and-swap for each CPU, is not there: its repository has no licence.`)
	if err := p.sheet(c.gifts()); err != nil {
		return err
	}
	p.text("### Many goroutines")
	p.picture("goroutines")
	p.text(`Nanoseconds per ID, and behind the comma the smallest share of a goroutine over the largest. Goroutines that outnumber the
CPUs let others run every 20 µs or so; otherwise the second figure would be that of Go's scheduler.`)
	return p.sheet(c.crowds())
}

func (p page) sweep() error {
	r := p.results.Sweep
	p.head("Settings", r.facts, "sweep.csv")
	p.picture("ring_throughput")
	p.picture("ring_tail")
	var verdicts []string
	for _, plane := range planes(r.of(sweepRing)) {
		verdicts = append(verdicts, fmt.Sprintf("- on empty %s, %s: %s", plane.onEmpty, goroutines(plane.goroutines), plane.verdict()))
	}
	p.text("Time per ID in atomic adds, and whether the settings matter:")
	p.text(strings.Join(verdicts, "\n"))
	p.picture("layouts")
	for _, name := range sweepNames() {
		if name == sweepRing {
			continue
		}
		s := &sheet{heads: []string{name, "ns per ID", "atomic add, ns", "ratio", "inline pads", "p99.99", "ID time used per s"}, left: 1}
		for _, row := range r.of(name) {
			s.add(row.label(), figure(row.NsPerID), figure(row.AtomicAddNs), fmt.Sprintf("%.2f ×", row.Ratio), comma(row.InlinePads),
				whole(row.P9999Ns), span(row.IDTimeRate))
		}
		if err := p.sheet(s); err != nil {
			return err
		}
	}
	return nil
}

// of returns the rows of a sweep.
func (r sweepReport) of(name string) []sweepRow {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row sweepRow) bool { return row.Sweep != name })
}

func (p page) tail() error {
	r := p.results.Tail
	p.head("Latency of single calls", r.facts, "tail.csv")
	p.picture("tail")
	p.text(fmt.Sprintf(`As the clock shows it: reading the clock twice is in all figures, and is the first row of each table. The last columns are samples
of a million over %s, and what is left of them when those of the loop around an empty call, the share of scheduler and machine,
are taken off.`, whole(slow.Nanoseconds())))
	for rows := range slices.Chunk(r.Rows, r.callsInATable()) {
		if err := p.sheet(tailSheet(rows)); err != nil {
			return err
		}
	}
	return nil
}

func tailSheet(rows []tailRow) *sheet {
	first := rows[0]
	s := &sheet{left: 1, heads: []string{
		first.conditions(),
		"samples", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max", "over " + whole(slow.Nanoseconds()), "own",
	}}
	for _, r := range rows {
		line := []string{r.Call, comma(r.Samples)}
		for _, value := range []int64{r.P50Ns, r.P90Ns, r.P99Ns, r.P999Ns, r.P9999Ns, r.P99999Ns, r.MaxNs} {
			if value == 0 { // too few samples
				line = append(line, none)
				continue
			}
			line = append(line, strings.TrimSpace(whole(value)))
		}
		s.add(append(line, significant(r.Slow), significant(r.SlowOwn))...)
	}
	return s
}

func (p page) soak() error {
	r := p.results.Soak
	p.head("Every ID counted", r.facts, "soak.csv")
	p.text(fmt.Sprintf(`%s, %s IDs, each counted in a bitmap: %s. The books of each generator agree with it: what was put is
issued, retired or still there.`, counted(int64(r.Total.Modes), "mode"), comma(r.Total.IDs), counted(r.Total.Duplicates, "duplicate")))
	s := &sheet{heads: []string{"mode", "goroutines", "IDs", "different", "time", "retired"}, left: 1}
	for _, row := range r.Rows {
		s.add(row.Summary, comma(int64(row.Goroutines)), comma(row.IDs), comma(row.Different), elapsed(row.Seconds), comma(row.Retired))
	}
	return p.sheet(s)
}
