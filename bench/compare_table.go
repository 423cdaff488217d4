package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"
)

// The tables of a comparison. Where nothing was measured there is a dash.

const none = "–"

// kinds are the kinds of contestants in the order of the tables.
func kinds() []string { return []string{kindOwn, kindOther, kindBaseline} }

// cpus is the number of goroutines that stands for all CPUs.
func (c comparison) cpus() int { return c.Machine.GOMAXPROCS }

// speeds is the table of a kind: one goroutine, and all CPUs if there are more.
func (c comparison) speeds(kind string) *sheet {
	counts := slices.Compact([]int{1, c.cpus()})
	s := &sheet{heads: []string{kind}, left: 1}
	for _, n := range counts {
		s.heads = append(s.heads, fmt.Sprintf("ns/ID on %d", n), "× add", "CPU ns/ID", "CPU × add")
		if n > 1 {
			s.heads = append(s.heads, fmt.Sprintf("× add on %d", n))
		}
	}
	s.heads = append(s.heads, "capped at")
	for _, first := range c.Rows {
		if first.Kind != kind || first.Goroutines != 1 {
			continue
		}
		cells := []string{first.Name}
		for _, n := range counts {
			row, _ := c.find(first.Name, n)
			cells = append(cells, row.speed()...)
			if n > 1 {
				cells = append(cells, row.ratio(row.RatioContended))
			}
		}
		s.add(append(cells, first.limit())...)
	}
	return s
}

// speed is what speeds shows of a row.
func (r comparedRow) speed() []string {
	return []string{figure(r.NsPerID), r.ratio(r.RatioToAdd), figure(r.CPUNsPerID), r.cpuRatio()}
}

// ratio writes a ratio of r, but not of one that is capped: it would look as if the code took that long.
func (r comparedRow) ratio(to float64) string {
	switch {
	case r.Laps == 0:
		return none
	case r.CapPerSecond > 0:
		return "capped"
	}
	return figure(to) + " ×"
}

// cpuRatio stands for what is capped, too: some wait for their cap without the CPU, some with it.
func (r comparedRow) cpuRatio() string {
	if r.CPURatio == 0 {
		return none
	}
	return figure(r.CPURatio) + " ×"
}

func (r comparedRow) limit() string {
	if r.CapPerSecond == 0 {
		return ""
	}
	return comma(int64(r.CapPerSecond)) + "/s"
}

// gifts is the table that says what the IDs are.
func (c comparison) gifts() *sheet {
	s := &sheet{heads: []string{"", "bits", "order in a process", "processes kept apart by", "time ahead of the clock", "note"}, left: 6}
	for _, row := range c.Rows {
		if row.Goroutines != 1 || row.Bits == 0 {
			continue
		}
		s.add(row.Name, fmt.Sprint(row.Bits), row.Order, row.Worker, row.Ahead, row.Note)
	}
	return s
}

// crowds is the table by number of goroutines.
func (c comparison) crowds() *sheet {
	var counts []int
	for _, row := range c.Rows {
		if row.Name == nameAtomicAdd {
			counts = append(counts, row.Goroutines)
		}
	}
	s := &sheet{heads: []string{"ns/ID, fairness"}, left: 1}
	for _, n := range counts {
		s.heads = append(s.heads, goroutines(n))
	}
	for _, first := range c.Rows {
		if first.Goroutines != 1 || first.Laps == 0 {
			continue
		}
		cells := []string{first.Name}
		for _, n := range counts {
			row, found := c.find(first.Name, n)
			if !found {
				break
			}
			cell := figure(row.NsPerID)
			if n > 1 {
				cell += fmt.Sprintf(", %.2f", row.Fairness)
			}
			cells = append(cells, cell)
		}
		if len(cells) == len(s.heads) {
			s.add(cells...)
		}
	}
	return s
}

// writeTables writes all of it for a terminal.
func (c comparison) writeTables(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	c.print(p)
	fmt.Fprintf(p, "%s; medians over %d rounds of laps of %v, in random order\n", "Wall time per ID, all goroutines together",
		c.Rounds, time.Duration(c.LapMs*float64(time.Millisecond)))
	if note := c.starved(); note != "" {
		fmt.Fprintln(p, note)
	}
	for _, kind := range kinds() {
		fmt.Fprintln(p)
		if err := c.speeds(kind).writeText(p); err != nil {
			return err
		}
	}
	p.title("MANY GOROUTINES: fairness is the smallest share of a goroutine over the largest")
	if err := c.crowds().writeText(p); err != nil {
		return err
	}
	p.title("WHAT ONE GETS")
	if err := c.gifts().writeText(p); err != nil {
		return err
	}
	return p.Flush()
}

func goroutines(n int) string { return counted(int64(n), "goroutine") }

// figure writes nanoseconds without their unit, three digits that count.
func figure(ns float64) string {
	switch {
	case ns == 0:
		return none
	case ns < 0.995:
		return fmt.Sprintf("%.3f", ns)
	}
	return significant(ns)
}
