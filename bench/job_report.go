package main

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// A jobReport is the result of the main job. Its JSON keys do not change. Names end in their unit;
// nanoseconds per ID are wall time.
type jobReport struct {
	report.Facts
	Generator  generator  `json:"generator"`
	Load       load.Load  `json:"load"`
	Throughput throughput `json:"throughput"`
	Baselines  []baseline `json:"baselines"` // none with a rate
	Latency    latency    `json:"latency"`
	Ring       ring       `json:"ring"`
	IDTime     idTime     `json:"id_time"`
	Memory     memory     `json:"memory"`
	Check      *checks    `json:"check"` // null: left out
}

type generator struct {
	Layout        string `json:"layout"`
	WorkerID      int64  `json:"worker_id"`
	MaxWorkerID   int64  `json:"max_worker_id"`
	DatacenterID  int64  `json:"datacenter_id"`
	WorkerSource  string `json:"worker_source"`
	Guarantee     string `json:"guarantee"`
	BoostPower    int    `json:"boost_power"`
	CapacityIDs   int    `json:"capacity_ids"`
	PaddingFactor int    `json:"padding_factor_percent"`
	ScheduleNs    int64  `json:"schedule_ns"` // 0: off
	OnEmpty       string `json:"on_empty"`
}

type throughput struct {
	IDs              int64    `json:"ids"`
	Seconds          float64  `json:"seconds"`
	IDsPerSecond     float64  `json:"ids_per_second"`
	WallNsPerID      float64  `json:"wall_ns_per_id"`      // all goroutines together
	GoroutineNsPerID float64  `json:"goroutine_ns_per_id"` // as each goroutine sees it
	AllocsPerID      *float64 `json:"allocs_per_id"`       // null with a rate: waiting allocates
}

// A baseline compares takes with atomic adds, over all goroutines together.
type baseline struct {
	Goroutines    int     `json:"goroutines"`
	AtomicAddNs   float64 `json:"atomic_add_ns"`
	MutexCountNs  float64 `json:"mutex_count_ns"`
	NsPerID       float64 `json:"ns_per_id"`
	RatioToAtomic float64 `json:"ratio_to_atomic_add"`
}

// A latency is the time of one call, Next or Fill, reading the clock included. 1 ns stands for less
// than the clock can show.
type latency struct {
	Calls   int64 `json:"calls_timed"`
	OneOf   int   `json:"one_of"`
	ClockNs int64 `json:"clock_ns"` // median of reading the clock alone
	P50Ns   int64 `json:"p50_ns"`
	P99Ns   int64 `json:"p99_ns"`
	P999Ns  int64 `json:"p99_9_ns"`
	P9999Ns int64 `json:"p99_99_ns"`
	MaxNs   int64 `json:"max_ns"`
}

type ring struct {
	RejectedTakes int64 `json:"rejected_takes"`
	InlinePads    int64 `json:"inline_pads"`
	PaddingPasses int64 `json:"padding_passes"`
}

type idTime struct {
	PerSecond    float64 `json:"seconds_per_second"`
	AheadSeconds float64 `json:"ahead_seconds"` // of the clock; negative: behind
	ShareSeconds float64 `json:"share_seconds"` // lifetime of the delta field at this rate
}

type memory struct {
	GeneratorBytes int64  `json:"generator_bytes"`
	HeapBytes      int64  `json:"heap_bytes"`
	FromOSBytes    uint64 `json:"from_os_bytes"`
}

type checks struct {
	IDs         int64   `json:"ids"`
	Different   int64   `json:"different"` // counted in the bitmap
	Duplicates  int64   `json:"duplicates"`
	Seconds     float64 `json:"seconds"`
	BitmapBytes int64   `json:"bitmap_peak_bytes"`
}

func (s *settings) generator(alloc *bitsalloc.Allocator, stats cached.Stats, source string) generator {
	return generator{
		Layout:        alloc.Layout().String(),
		WorkerID:      stats.WorkerID,
		MaxWorkerID:   alloc.MaxWorkerID(),
		DatacenterID:  stats.DatacenterID,
		WorkerSource:  source,
		Guarantee:     stats.Guarantee.String(),
		BoostPower:    s.boostPower,
		CapacityIDs:   stats.Capacity,
		PaddingFactor: s.paddingFactor,
		ScheduleNs:    s.schedule.Nanoseconds(),
		OnEmpty:       s.onEmpty,
	}
}

// measured fills in the figures of the measurement.
func (r *jobReport) measured(l load.Load, m measurement, alloc *bitsalloc.Allocator) {
	seconds := m.wall.Seconds()
	rate, wallNs := float64(m.ids)/seconds, float64(m.wall.Nanoseconds())/float64(m.ids)
	r.Load = l
	r.Throughput = throughput{m.ids, seconds, rate, wallNs, wallNs * float64(l.Goroutines), nil}
	if l.Rate == 0 {
		r.Throughput.AllocsPerID = new(float64(m.mallocs) / float64(m.ids))
	}
	r.Baselines = []baseline{}
	for _, c := range m.columns {
		r.Baselines = append(r.Baselines, baseline{c.goroutines, report.Median(c.adds), report.Median(c.mutexes),
			report.Median(c.takes), report.Median(c.ratios())})
	}
	r.Ring = m.ring
	share, _ := alloc.Lifetime(rate)
	r.IDTime = idTime{float64(m.deltas) * alloc.Layout().Unit.Seconds() / seconds, m.after.Ahead.Seconds(), share.Seconds()}
}

func newLatency(h *hdrhistogram.Histogram, clock time.Duration, oneOf int) latency {
	return latency{h.TotalCount(), oneOf, clock.Nanoseconds(), h.ValueAtPercentile(50), h.ValueAtPercentile(99),
		h.ValueAtPercentile(99.9), h.ValueAtPercentile(99.99), h.Max()}
}

// call names the calls that take IDs.
func (r jobReport) call() string {
	switch {
	case r.Load.Batch > 0:
		return "Fill of " + report.Comma(r.Load.Batch)
	case r.Load.Lanes == load.LanePerGoroutine:
		return "Lane.Next"
	case r.Load.Lanes == load.LanePerCPU:
		return "Next, a lane per CPU"
	}
	return "Next"
}

func (r jobReport) speed() string {
	if r.Load.Rate == 0 {
		return "flat out"
	}
	return "paced at " + report.Comma(int64(r.Load.Rate)) + " IDs/s"
}

func (r jobReport) print(p *report.Page) {
	p.Facts(r.Facts, "")
	r.printGenerator(p)
	r.printThroughput(p)
	r.printBaselines(p)
	r.printLatency(p)
	part(p, "RING, while throughput was measured",
		row("rejected takes", report.Comma(r.Ring.RejectedTakes), ""),
		row("inline pads", report.Comma(r.Ring.InlinePads), "blocks put by callers that found the ring empty"),
		row("padding passes", report.Comma(r.Ring.PaddingPasses), ""))
	direction := "ahead of the clock"
	if r.IDTime.AheadSeconds < 0 {
		direction = "behind the clock"
	}
	part(p, "ID TIME",
		row("used per second", report.Span(r.IDTime.PerSecond), ""),
		row("now", report.Span(max(r.IDTime.AheadSeconds, -r.IDTime.AheadSeconds)), "%s", direction),
		row("one worker's share", report.Span(r.IDTime.ShareSeconds), "lifetime of the delta field at this rate"))
	part(p, "MEMORY",
		row("generator", report.Size(r.Memory.GeneratorBytes), "on the heap"),
		row("heap in use", report.Size(r.Memory.HeapBytes), "of this program, database driver included"),
		row("from the OS", report.Size(int64(r.Memory.FromOSBytes)), ""))
	r.printCheck(p)
}

// row returns a label, a figure, and a remark.
func row(label, figure, remark string, args ...any) []string {
	return []string{label, figure, " " + fmt.Sprintf(remark, args...)}
}

// part prints rows below a title. All parts have columns of the same width.
func part(p *report.Page, title string, rows ...[]string) {
	p.Title("%s", title)
	p.Table(&report.Table{Left: 1, Rows: rows, Widths: []int{22, 14, 0}})
}

func (r jobReport) printGenerator(p *report.Page) {
	g, schedule := r.Generator, ""
	if g.ScheduleNs > 0 {
		schedule = fmt.Sprintf(", which also checks every %v", time.Duration(g.ScheduleNs))
	}
	part(p, "GENERATOR",
		row("layout", g.Layout, "delta/datacenter/worker/sequence bits, unit"),
		row("worker ID", report.Comma(g.WorkerID), "up to %s, %s: %s", report.Comma(g.MaxWorkerID), g.Guarantee, g.WorkerSource),
		row("datacenter ID", report.Comma(g.DatacenterID), ""),
		row("ring", report.Comma(g.CapacityIDs), "IDs in %s blocks, boost power %d", report.Comma(1<<g.BoostPower), g.BoostPower),
		row("padding", fmt.Sprintf("%d %%", g.PaddingFactor), "left wakes the padding goroutine%s; on empty: %s", schedule, g.OnEmpty))
}

func (r jobReport) printThroughput(p *report.Page) {
	t := r.Throughput
	rows := [][]string{
		row("IDs per second", report.Comma(int64(t.IDsPerSecond)), "%s in all", report.Comma(t.IDs)),
		row("wall time per ID", report.Ns(t.WallNsPerID), "all goroutines together"),
		row("goroutine time per ID", report.Ns(t.GoroutineNsPerID), "as each goroutine sees it"),
	}
	if t.AllocsPerID != nil {
		rows = append(rows, row("allocations per ID", fmt.Sprintf("%.4f", *t.AllocsPerID), "by the whole process"))
	}
	part(p, fmt.Sprintf("THROUGHPUT: %s, %s, %s, %s", r.call(), report.Goroutines(r.Load.Goroutines), r.speed(), report.Elapsed(t.Seconds)), rows...)
}

func (r jobReport) printBaselines(p *report.Page) {
	if len(r.Baselines) == 0 {
		return
	}
	p.Title("BASELINES: wall time per ID, medians of %d interleaved rounds", rounds)
	t := report.NewTable("", "atomic add, one word", "mutex and counter", r.call(), "to the atomic add")
	for _, b := range r.Baselines {
		t.Add(report.Goroutines(b.Goroutines), report.Ns(b.AtomicAddNs), report.Ns(b.MutexCountNs), report.Ns(b.NsPerID), report.Times(b.RatioToAtomic))
	}
	p.Table(t)
}

func (r jobReport) printLatency(p *report.Page) {
	l, every := r.Latency, "each"
	if l.OneOf > 1 {
		every = fmt.Sprintf("1 of %d", l.OneOf)
	}
	part(p, fmt.Sprintf("LATENCY of one %s, %s, %s calls timed (%s)", r.call(), r.speed(), report.Comma(l.Calls), every),
		row("p50", report.Timed(l.P50Ns), ""),
		row("p99", report.Timed(l.P99Ns), ""),
		row("p99.9", report.Timed(l.P999Ns), ""),
		row("p99.99", report.Timed(l.P9999Ns), ""),
		row("max", report.Timed(l.MaxNs), "includes pauses by the scheduler"),
		row("reading the clock", report.Timed(l.ClockNs), "is included in all of them"))
}

func (r jobReport) printCheck(p *report.Page) {
	c := r.Check
	if c == nil {
		part(p, "CHECK: of the IDs measured, only the number", row("IDs checked", "none", ""))
		return
	}
	order := "an ID out of order is an error"
	if r.Load.Lanes == load.LanePerCPU {
		order = "lanes keep no order"
	}
	part(p, "CHECK of more IDs, taken after the measurement; of the IDs measured, only the number is checked",
		row("IDs checked", report.Comma(c.IDs), "in %s, bitmap of %s at most", report.Elapsed(c.Seconds), report.Size(c.BitmapBytes)),
		row("different ones", report.Comma(c.Different), "counted in the bitmap; %s", order),
		row("duplicates", report.Comma(c.Duplicates), ""))
}
