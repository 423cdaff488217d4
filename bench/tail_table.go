package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

func (r tailReport) writeTables(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	r.print(p)
	fmt.Fprintf(p, "%s for each row; the times include reading the clock twice, which is the first row of each table\n", elapsed(r.RowSeconds))
	for rows := range slices.Chunk(r.Rows, r.callsInATable()) {
		printTail(p, rows)
	}
	p.title("over %s: samples of a million that took longer. in the empty loop: as many of them as the loop around an empty call has\n"+
		"under the same conditions, which is the share of the scheduler and the machine. own: what is left.", whole(slow.Nanoseconds()))
	return p.Flush()
}

// callsInATable is how many rows share their conditions.
func (r tailReport) callsInATable() int {
	n := slices.IndexFunc(r.Rows, func(row tailRow) bool { return !row.sameConditions(r.Rows[0]) })
	if n < 0 {
		n = len(r.Rows)
	}
	return max(1, n)
}

func (r tailRow) sameConditions(other tailRow) bool {
	return r.Pressure == other.Pressure && r.Goroutines == other.Goroutines && r.Rate == other.Rate
}

func printTail(p printer, rows []tailRow) {
	first := rows[0]
	speed := fmt.Sprintf("flat out, 1 call of %d timed", first.OneOf)
	if first.Rate > 0 {
		speed = fmt.Sprintf("%s calls/s, each timed", comma(int64(first.Rate)))
	}
	collections := int64(0)
	for _, r := range rows {
		collections += r.Collections
	}
	p.title("%s, %s, beside %s (%s)", counted(int64(first.Goroutines), "goroutine"), speed, first.Pressure,
		counted(collections, "garbage collection"))
	s := sheet{heads: []string{"", "samples", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max",
		"over " + whole(slow.Nanoseconds()), "in the empty loop", "own"}, left: 1}
	for _, r := range rows {
		line := []string{r.Call, comma(r.Samples)}
		for _, value := range []int64{r.P50Ns, r.P90Ns, r.P99Ns, r.P999Ns, r.P9999Ns, r.P99999Ns, r.MaxNs} {
			if value == 0 {
				line = append(line, "-")
				continue
			}
			line = append(line, whole(value))
		}
		s.add(append(line, significant(r.Slow), significant(min(r.Slow, r.SlowEmpty)), significant(r.SlowOwn))...)
	}
	_ = s.writeText(p) // errors show up in Flush
}
