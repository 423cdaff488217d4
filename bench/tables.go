package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// A printer writes tables. Its errors show up in Flush.
type printer struct{ *bufio.Writer }

func (p printer) title(format string, args ...any) {
	fmt.Fprintf(p, "\n"+format+"\n", args...)
}

// row writes a label, a value that ends at a fixed column, and a remark.
func (p printer) row(label, value, remark string, args ...any) {
	line := fmt.Sprintf("  %-22s %15s   %s", label, value, fmt.Sprintf(remark, args...))
	fmt.Fprintln(p, strings.TrimRight(line, " "))
}

// columns writes a label and values that each end at a fixed column.
func (p printer) columns(label string, values []string) {
	var line strings.Builder
	fmt.Fprintf(&line, "  %-22s", label)
	for _, v := range values {
		fmt.Fprintf(&line, " %15s", v)
	}
	fmt.Fprintln(p, strings.TrimRight(line.String(), " "))
}

func (r report) writeTables(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	facts{r.Command, r.Date, r.Machine}.print(p)
	for _, section := range [...]func(printer){
		r.printGenerator, r.printThroughput, r.printBaselines, r.printLatency,
		r.printRing, r.printIDTime, r.printMemory, r.printCheck,
	} {
		section(p)
	}
	return p.Flush()
}

// call names what takes IDs.
func (r report) call() string {
	if r.Load.Batch == 0 {
		return "Next"
	}
	return "Fill of " + comma(int64(r.Load.Batch))
}

func (r report) speed() string {
	if r.Load.Rate == 0 {
		return "flat out"
	}
	return "paced at " + comma(int64(r.Load.Rate)) + " IDs/s"
}

func (r report) printGenerator(p printer) {
	g := r.Generator
	p.title("GENERATOR")
	p.row("layout", g.Layout, "delta/datacenter/worker/sequence bits, unit")
	p.row("worker ID", comma(g.WorkerID), "up to %s, %s: %s", comma(g.MaxWorkerID), g.Guarantee, g.WorkerSource)
	p.row("datacenter ID", comma(g.DatacenterID), "")
	p.row("ring", comma(int64(g.CapacityIDs)), "IDs in %s runs, boost power %d", comma(1<<g.BoostPower), g.BoostPower)
	schedule := ""
	if g.ScheduleNs > 0 {
		schedule = fmt.Sprintf(", which also looks every %v", time.Duration(g.ScheduleNs))
	}
	p.row("padding", fmt.Sprintf("%d %%", g.PaddingFactor), "left wakes the padding goroutine%s; on empty: %s", schedule, g.OnEmpty)
}

func (r report) printThroughput(p printer) {
	t := r.Throughput
	p.title("THROUGHPUT: %s, %s, %s, %s", r.call(), counted(int64(r.Load.Goroutines), "goroutine"), r.speed(), elapsed(t.Seconds))
	p.row("IDs per second", comma(int64(t.IDsPerSecond)), "%s in all", comma(t.IDs))
	p.row("wall time per ID", ns(t.WallNsPerID), "all goroutines together")
	p.row("goroutine time per ID", ns(t.GoroutineNsPerID), "as each goroutine sees it")
	if t.AllocsPerID != nil {
		p.row("allocations per ID", fmt.Sprintf("%.4f", *t.AllocsPerID), "by the whole process")
	}
}

func (r report) printBaselines(p printer) {
	if len(r.Baselines) == 0 {
		return
	}
	p.title("BASELINES: wall time per ID, medians of %d rounds in which they took turns", rounds)
	var heads, adds, mutexes, takes, ratios []string
	for _, b := range r.Baselines {
		heads = append(heads, counted(int64(b.Goroutines), "goroutine"))
		adds = append(adds, ns(b.AtomicAddNs))
		mutexes = append(mutexes, ns(b.MutexCountNs))
		takes = append(takes, ns(b.NsPerID))
		ratios = append(ratios, fmt.Sprintf("%.2f × ", b.RatioToAtomic))
	}
	p.columns("", heads)
	p.columns("atomic add, one word", adds)
	p.columns("mutex and counter", mutexes)
	p.columns(r.call(), takes)
	p.columns("to the atomic add", ratios)
}

func (r report) printLatency(p printer) {
	l := r.Latency
	every := "each"
	if l.OneOf > 1 {
		every = fmt.Sprintf("1 of %d", l.OneOf)
	}
	p.title("LATENCY of one %s, %s, %s calls timed (%s)", r.call(), r.speed(), comma(l.Calls), every)
	for _, percentile := range [...]struct {
		name string
		ns   int64
	}{{"p50", l.P50Ns}, {"p99", l.P99Ns}, {"p99.9", l.P999Ns}, {"p99.99", l.P9999Ns}} {
		p.row(percentile.name, whole(percentile.ns), "")
	}
	p.row("max", whole(l.MaxNs), "pauses by the scheduler are in")
	p.row("reading the clock", whole(l.ClockNs), "is subtracted from all of them")
}

func (r report) printRing(p printer) {
	p.title("RING, while throughput was measured")
	p.row("rejected takes", comma(r.Ring.RejectedTakes), "")
	p.row("inline pads", comma(r.Ring.InlinePads), "runs put by callers that had found the ring empty")
	p.row("padding passes", comma(r.Ring.PaddingPasses), "")
}

func (r report) printIDTime(p printer) {
	t := r.IDTime
	p.title("ID TIME")
	p.row("used per second", span(t.PerSecond), "")
	direction := "ahead of the clock"
	if t.AheadSeconds < 0 {
		direction = "behind the clock"
	}
	p.row("now", span(max(t.AheadSeconds, -t.AheadSeconds)), "%s", direction)
	p.row("one worker's share", span(t.ShareSeconds), "at this rate the whole delta field lasts so long")
}

func (r report) printMemory(p printer) {
	p.title("MEMORY")
	p.row("generator", size(r.Memory.GeneratorBytes), "on the heap")
	p.row("heap in use", size(r.Memory.HeapBytes), "of this program, database driver included")
	p.row("from the OS", size(r.Memory.FromOSBytes), "")
}

func (r report) printCheck(p printer) {
	p.title("CHECK")
	c := r.Check
	if c == nil {
		p.row("IDs checked", "none", "")
		return
	}
	p.row("IDs checked", comma(c.IDs), "in %s, bitmap of %s at most", elapsed(c.Seconds), size(c.BitmapBytes))
	p.row("different ones", comma(c.Different), "counted in the bitmap; an ID out of order would have ended the run")
	p.row("duplicates", comma(c.Duplicates), "")
}
