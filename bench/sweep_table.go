package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

func (f facts) print(p printer) {
	fmt.Fprintf(p, "%s\n%s, %s %s/%s, %s, %s, GOMAXPROCS %d\n", f.Command, f.Date.Format(time.RFC3339), f.Machine.GoVersion,
		f.Machine.OS, f.Machine.Arch, f.Machine.CPU, counted(int64(f.Machine.CPUs), "CPU"), f.Machine.GOMAXPROCS)
}

func (r sweepReport) writeTables(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	r.print(p)
	fmt.Fprintf(p, "%s for each setting in %d rounds, each in turns with an atomic add; ns are wall time over all goroutines\n",
		elapsed(r.CellSeconds), r.Rounds)
	for _, name := range sweepNames() {
		rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row sweepRow) bool { return row.Sweep != name })
		switch {
		case len(rows) == 0:
		case name == sweepRing:
			printRingSweep(p, rows)
		default:
			printSweep(p, name, rows)
		}
	}
	return p.Flush()
}

// A plane is the part of a ring sweep that fits a heat map: what differs in boost power and padding factor only.
type plane struct {
	onEmpty    string
	goroutines int
	rows       []sweepRow
}

// planes parts the rows of a ring sweep, in the order in which they come.
func planes(rows []sweepRow) (list []plane) {
	for _, row := range rows {
		i := slices.IndexFunc(list, func(p plane) bool { return p.onEmpty == row.OnEmpty && p.goroutines == row.Goroutines })
		if i < 0 {
			i = len(list)
			list = append(list, plane{onEmpty: row.OnEmpty, goroutines: row.Goroutines})
		}
		list[i].rows = append(list[i].rows, row)
	}
	return list
}

// verdict says whether boost power and padding factor matter for the time per ID. What one setting shows in different
// rounds is the measure: a range of medians that is no wider cannot be told from noise.
func (p plane) verdict() string {
	fastest := slices.MinFunc(p.rows, func(a, b sweepRow) int { return cmp.Compare(a.Ratio, b.Ratio) })
	slowest := slices.MaxFunc(p.rows, func(a, b sweepRow) int { return cmp.Compare(a.Ratio, b.Ratio) })
	spreads := make([]float64, len(p.rows))
	for i, row := range p.rows {
		spreads[i] = row.RatioHigh - row.RatioLow
	}
	noise := median(spreads)
	text := fmt.Sprintf("%.2f × to %.2f × over %d settings; one setting alone differs by %.2f × from round to round: ",
		fastest.Ratio, slowest.Ratio, len(p.rows), noise)
	if slowest.Ratio-fastest.Ratio <= noise {
		return text + "no difference beyond that"
	}
	return text + fmt.Sprintf("slowest at boost power %d, padding factor %d", slowest.Boost, slowest.Padding)
}

// printRingSweep prints heat maps in figures.
func printRingSweep(p printer, rows []sweepRow) {
	for _, plane := range planes(rows) {
		p.title("RING: on empty %s, %s", plane.onEmpty, counted(int64(plane.goroutines), "goroutine"))
		plane.print(p, "ratio to the atomic add", func(r sweepRow) string { return fmt.Sprintf("%.2f", r.Ratio) })
		if plane.onEmpty == "reject" {
			plane.print(p, "rejected takes per million IDs", func(r sweepRow) string { return share(r.Rejected, r.IDs, 1e6) })
		} else {
			plane.print(p, "runs put by callers, per thousand runs", func(r sweepRow) string {
				return share(r.InlinePads, r.IDs>>r.SequenceBits, 1000)
			})
		}
		plane.print(p, "p99.99 of single calls", func(r sweepRow) string { return ns(float64(r.P9999Ns)) })
		plane.print(p, "ID time ahead of the clock at the end of a round", func(r sweepRow) string { return signedSpan(r.AheadSeconds) })
		fmt.Fprintf(p, "  %s\n", plane.verdict())
	}
}

// axes returns the boost powers and padding factors of the plane.
func (p plane) axes() (boosts, paddings []int) {
	for _, row := range p.rows {
		boosts, paddings = append(boosts, row.Boost), append(paddings, row.Padding)
	}
	return distinct(boosts), distinct(paddings)
}

// print prints a figure of each row, boost powers from top to bottom and padding factors from left to right.
func (p plane) print(out printer, what string, figure func(sweepRow) string) {
	boosts, paddings := p.axes()
	s := sheet{heads: []string{"boost \\ padding"}, left: 1}
	for _, padding := range paddings {
		s.heads = append(s.heads, strconv.Itoa(padding)+" %")
	}
	for _, boost := range boosts {
		line := []string{strconv.Itoa(boost)}
		for _, padding := range paddings {
			i := slices.IndexFunc(p.rows, func(r sweepRow) bool { return r.Boost == boost && r.Padding == padding })
			line = append(line, figure(p.rows[i]))
		}
		s.add(line...)
	}
	fmt.Fprintf(out, "  %s\n", what)
	_ = s.writeText(out) // errors show up in Flush
}

func distinct(list []int) []int { return slices.Compact(slices.Sorted(slices.Values(list))) }

// printSweep prints a line for each row.
func printSweep(p printer, name string, rows []sweepRow) {
	p.title("%s", map[string]string{
		sweepGoroutines: "GOROUTINES and lanes",
		sweepSequence:   "SEQUENCE BITS, 16 worker bits",
		sweepDelta:      "DELTA BITS, 20 worker bits",
		sweepWorker:     "WORKER BITS, 31 delta bits",
		sweepConsumers:  "CONSUMERS, layout 31/0/23/9",
	}[name])
	s := sheet{heads: []string{"", "ns per ID", "atomic add", "ratio", "low-high", "inline pads", "p99.99", "ID time per s", "ahead"}, left: 1}
	for _, r := range rows {
		s.add(r.label(), ns(r.NsPerID), ns(r.AtomicAddNs), fmt.Sprintf("%.2f ×", r.Ratio),
			fmt.Sprintf("%.2f-%.2f", r.RatioLow, r.RatioHigh), comma(r.InlinePads), ns(float64(r.P9999Ns)),
			span(r.IDTimeRate), signedSpan(r.AheadSeconds))
	}
	_ = s.writeText(p) // errors show up in Flush
}

// label says what sets a row apart from others of its sweep.
func (r sweepRow) label() string {
	switch r.Sweep {
	case sweepGoroutines:
		if r.Lanes == 1 {
			return counted(int64(r.Goroutines), "goroutine")
		}
		return counted(int64(r.Goroutines), "goroutine") + ", lanes"
	case sweepConsumers:
		return counted(int64(r.Goroutines), "goroutine")
	default:
		return r.Layout
	}
}

// share writes n of total as parts per what is given, exactly 0 as 0.
func share(n, total int64, per float64) string {
	if n == 0 || total == 0 {
		return "0"
	}
	return significant(float64(n) / float64(total) * per)
}

func signedSpan(seconds float64) string {
	if seconds < 0 {
		return "-" + span(-seconds)
	}
	return span(seconds)
}
