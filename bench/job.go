package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/count"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// settings are the flags of the main job.
type settings struct {
	output
	dsn        dsn
	create     bool
	worker     int64 // negative: from a database
	datacenter int64

	layout        bitsalloc.Layout
	boostPower    int
	paddingFactor int
	schedule      time.Duration
	onEmpty       string // pad or reject

	load     load.Load
	duration time.Duration
	check    int64 // IDs; 0: none
}

// newJob returns the command without a name: the main job.
func newJob(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Take a worker ID, issue IDs at full speed, check every ID, and print the figures",
		Long: "bench takes a worker ID, issues IDs at full speed, checks every ID, and prints the figures. Without --dsn\n" +
			"and --worker, the worker ID comes from the table WORKER_NODE of a new SQLite database in a temporary folder.",
		Example: "  go run ./bench\n" +
			"  go run ./bench --goroutines 1 --batch 256\n" +
			"  go run ./bench --lanes goroutine\n" +
			"  go run ./bench --layout snowflake --rate 1e6 --duration 10s\n" +
			"  go run ./bench --on-empty reject --boost-power 1 --padding-factor 10\n" +
			"  go run ./bench --dsn 'root@tcp(127.0.0.1:3306)/bench' --create --json\n" +
			"  go run ./bench compare --quick",
	}
	s.worker = -1
	flags := cmd.Flags()
	flags.Var(&s.dsn, "dsn", "MySQL or MariaDB: user:password@tcp(host:port)/database. Each start uses up a worker ID and\n"+
		"ties the tables to the layout: use a separate database")
	flags.BoolVar(&s.create, "create", false, "create the missing tables of that database")
	add(cmd, &s.worker, "worker", "N", "", "this worker ID, without a database", number(0, int64(math.MaxInt64)))
	add(cmd, &s.datacenter, "datacenter", "N", "0", "value of the datacenter field", number(0, int64(math.MaxInt64)))
	add(cmd, &s.layout, "layout", "L", "default", "preset: default, leased, baidu, snowflake, javascript; or widths of delta,\ndatacenter, worker and sequence, with a unit other than 1s: 41/0/10/12@1ms", parseLayout)
	add(cmd, &s.boostPower, "boost-power", "N", "3", "the ring holds 2^N blocks of 2^sequence IDs, 1 to 8", number(1, 8))
	add(cmd, &s.paddingFactor, "padding-factor", "N", "50", "percentage left in the ring that wakes the padding goroutine, 1 to 99", number(1, 99))
	add(cmd, &s.schedule, "schedule", "D", "0s", "also check the ring at this interval; 0s: never", duration(0))
	add(cmd, &s.onEmpty, "on-empty", "P", "pad", "pad: a caller that finds the ring empty pads; reject: it gets an error and tries\nagain", choice("pad", "reject"))
	add(cmd, &s.load.Goroutines, "goroutines", "N", strconv.Itoa(runtime.GOMAXPROCS(0)), "goroutines that take IDs", number(1, 1<<16))
	add(cmd, &s.load.Lanes, "lanes", "L", load.LanesOff, "off: one ordered stream; cpu: the generator has a lane for each CPU; goroutine: each\ngoroutine takes IDs from a Lane of its own", choice(load.LanesOff, load.LanePerCPU, load.LanePerGoroutine))
	add(cmd, &s.load.Batch, "batch", "N", "0", "IDs per call of Fill, up to 1048576; 0: Next", number(0, 1<<20))
	add(cmd, &s.load.Rate, "rate", "R", "0", "IDs per second of all goroutines together; 0: flat out", parseRate)
	add(cmd, &s.duration, "duration", "D", "3s", "time to measure", duration(time.Millisecond))
	add(cmd, &s.check, "check", "N", "100000000", "IDs to check afterwards, at least; with --rate, --duration ends the check sooner;\n0: none", number(0, int64(math.MaxInt64)))
	measures(&s.output, cmd, s.measure)
	return cmd
}

// parseLayout also checks the widths and the unit.
func parseLayout(text string) (bitsalloc.Layout, error) {
	l, err := bitsalloc.ParseLayout(text)
	if err != nil {
		return l, err
	}
	a, err := bitsalloc.New(l, bitsalloc.DefaultEpoch())
	if err != nil {
		return l, err
	}
	return a.Layout(), nil
}

func parseRate(text string) (float64, error) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r >= 0 && r <= 1e12) {
		return 0, errors.New("allowed: 0 (flat out) to 1e12 IDs per second")
	}
	return r, nil
}

// A dsn is the flag with the data source name of a MySQL database.
type dsn struct {
	text  string // empty: none
	shown string // user@host/database; empty: text is wrong
}

// Set accepts any text and leaves errors to validate: an error of Set would be printed with the
// text and the password in it.
func (d *dsn) Set(text string) error {
	d.text = text
	if cfg, err := mysql.ParseDSN(text); err == nil && cfg.DBName != "" {
		d.shown = cfg.Addr + "/" + cfg.DBName
		if cfg.User != "" {
			d.shown = cfg.User + "@" + d.shown
		}
	}
	return nil
}

func (d *dsn) String() string { return d.shown }
func (d *dsn) Type() string   { return "DSN" }

// validate checks flags that depend on each other.
func (s *settings) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.dsn.text != "" && s.dsn.shown == "" {
		wrong("--dsn is not understood, allowed: user:password@tcp(host:port)/database")
	}
	if s.worker >= 0 && s.dsn.text != "" {
		wrong("--worker and --dsn: a worker ID has one source, leave one out")
	}
	if s.create && s.dsn.text == "" {
		wrong("--create without --dsn: there is no database to create tables in")
	}
	if s.load.Lanes != load.LanesOff && s.load.Batch > 0 {
		wrong("--lanes %s and --batch %d: Fill takes no IDs from lanes, leave one out", s.load.Lanes, s.load.Batch)
	}
	if most := int64(1)<<s.layout.WorkerBits - 1; s.worker > most {
		wrong("--worker %d, allowed with layout %v: 0 to %d", s.worker, s.layout, most)
	}
	if most := int64(1)<<s.layout.DatacenterBits - 1; s.datacenter > most {
		wrong("--datacenter %d, allowed with layout %v: 0 to %d", s.datacenter, s.layout, most)
	}
	return errors.Join(errs...)
}

// config returns the Config of the generator.
func (s *settings) config(a assigner.Assigner) cached.Config {
	lanes := 1
	if s.load.Lanes == load.LanePerCPU {
		lanes = cached.LanePerCPU
	}
	return cached.Config{
		Layout:           s.layout,
		DatacenterID:     s.datacenter,
		Assigner:         a,
		AllowReuse:       true, // the IDs are not kept
		BoostPower:       s.boostPower,
		PaddingFactor:    s.paddingFactor,
		ScheduleInterval: s.schedule,
		OnEmpty:          emptyPolicy(s.onEmpty),
		Lanes:            lanes,
		MaxStaleness:     max(time.Minute, 2*s.layout.Unit), // the least that long units allow
	}
}

func emptyPolicy(name string) cached.EmptyPolicy {
	if name == "reject" {
		return cached.Reject
	}
	return cached.PadInline
}

// latencyTime is the time in which single calls are timed, or all the time if that is less.
const latencyTime = time.Second

// measure makes a generator, measures it, times its calls, and checks its IDs.
func (s *settings) measure(ctx context.Context, p *report.Progress) (r jobReport, err error) {
	if err := s.validate(); err != nil {
		return r, &usageError{err}
	}
	r.Facts = s.facts()
	if r.Memory.GeneratorBytes, err = s.generatorHeap(); err != nil {
		return r, err
	}
	w, err := openWorkers(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	gen, err := cached.NewContext(ctx, s.config(w.assigner))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	alloc, err := bitsalloc.New(s.layout, time.Time{})
	if err != nil {
		return r, err
	}
	j := job{s, gen, alloc, &r, 0}
	if err := j.phases(ctx, p); err != nil {
		return r, explain(err)
	}
	r.Generator = s.generator(alloc, gen.Stats(), w.source)
	r.Memory.HeapBytes, r.Memory.FromOSBytes = liveHeap(), memStats().Sys-memStats().HeapReleased
	return r, nil
}

// A job is the main job under way.
type job struct {
	*settings
	gen    *cached.Generator
	alloc  *bitsalloc.Allocator
	report *jobReport
	first  int64 // the first ID that the generator issued
}

func (j *job) phases(ctx context.Context, p *report.Progress) error {
	var m measurement
	turns := j.turns(&m)
	var err error
	if j.first, err = j.gen.NextContext(ctx); err != nil {
		return err
	}
	err = p.Timed("measuring", total(turns), func() error { return m.run(ctx, turns) })
	if err == nil && m.issued != m.ids {
		err = fmt.Errorf("%w: %d IDs taken, %d issued by the generator", errMiscount, m.ids, m.issued)
	}
	if err != nil {
		return fmt.Errorf("measuring: %w", err)
	}
	j.report.measured(j.load, m, j.alloc)

	d, h, clock, last := min(latencyTime, j.duration), load.NewHistogram(), load.ClockCost(), int64(0)
	err = p.Timed("timing single calls", d, func() (err error) {
		last, err = j.load.Sample(ctx, d, load.Calls(j.gen, j.load), h)
		return err
	})
	if err != nil {
		return fmt.Errorf("timing single calls: %w", err)
	}
	j.report.Latency = newLatency(h, clock, j.load.OneOf())

	if j.check == 0 {
		return nil
	}
	c := count.Counting{Load: j.load, Target: j.check, Unordered: j.load.Lanes == load.LanePerCPU}
	if j.load.Rate > 0 {
		c.Limit = j.duration
	}
	err = p.Show("checking every ID", j.check, c.Taken.Load, func() error { return j.checkAll(ctx, &c, max(m.last, last)) })
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	return nil
}

// checkAll counts IDs. All have to be larger than before, the largest ID of the earlier phases.
// With a lane per CPU, whose blocks may be older, they have to be different, and the count begins
// with the first ID of the generator.
func (j *job) checkAll(ctx context.Context, c *count.Counting, before int64) error {
	issued := j.gen.Stats().Issued
	r, err := c.Run(ctx, count.Subject{
		Alloc:  j.alloc,
		Holder: j.gen.WorkerID,
		First: func() (int64, error) {
			if c.Unordered {
				issued--
				return j.first, nil
			}
			id, err := j.gen.NextContext(ctx)
			if err == nil && id <= before {
				err = fmt.Errorf("%w: got %d after %d", count.ErrOrder, id, before)
			}
			return id, err
		},
		Consumer: func(int) count.Consumer {
			if j.load.Batch > 0 {
				return count.Fill(j.gen.Fill, j.load.Batch)
			}
			call, leave := load.Calls(j.gen, j.load)()
			consumer := count.Next(call)
			consumer.End = leave
			return consumer
		},
	})
	if err != nil {
		return err
	}
	if issued = j.gen.Stats().Issued - issued; r.Different != r.IDs || issued != r.IDs {
		return fmt.Errorf("%w: %d IDs taken, %d different ones counted, %d issued by the generator", errMiscount, r.IDs, r.Different, issued)
	}
	j.report.Check = &checks{r.IDs, r.Different, r.IDs - r.Different, r.Wall.Seconds(), r.Bytes}
	return nil
}

// explain adds advice to an error that flags have caused.
func explain(err error) error {
	if errors.Is(err, cached.ErrTimeExhausted) {
		return fmt.Errorf("%w; this run has used up all remaining deltas: choose a --layout with more delta or "+
			"sequence bits, or a --rate", err)
	}
	return err
}

// rounds is the number of times that a load and its baselines take turns: on a noisy machine only
// figures of the same moment compare.
const rounds = 5

// A measurement is the result of the phase that measures throughput.
type measurement struct {
	ids, last, deltas int64
	issued            int64 // as the generator counts
	wall              time.Duration
	ring              ring
	mallocs           uint64 // by the whole process
	after             cached.Stats
	columns           []*column // none with a rate
}

// A column compares takes with the baselines, by wall nanoseconds per ID in each round.
type column struct {
	goroutines           int
	adds, mutexes, takes []float64
}

// ratios returns the cost of a take in atomic adds of the same round.
func (c *column) ratios() []float64 {
	list := make([]float64, len(c.takes))
	for i, take := range c.takes {
		list[i] = take / c.adds[i]
	}
	return list
}

// A turn is a part of a round.
type turn struct {
	load   load.Load
	source load.Source
	share  time.Duration
	before func()
	done   func(load.Lap)
}

// turns returns the turns of a round. The baselines, and the load on one goroutine, get a sixth of
// the load's time each.
func (j *job) turns(m *measurement) (list []turn) {
	source, share := load.Cached(j.gen, j.load), j.duration/rounds
	collect := func(l load.Load, dst *[]float64, src load.Source) {
		list = append(list, turn{l, src, share / 6, func() {}, func(lap load.Lap) { *dst = append(*dst, lap.WallNs()) }})
	}
	all := &column{goroutines: j.load.Goroutines}
	if j.load.Rate == 0 {
		if j.load.Goroutines > 1 {
			one, alone := &column{goroutines: 1}, j.load
			alone.Goroutines = 1
			collect(alone, &one.adds, contestants.AtomicAdd())
			collect(alone, &one.mutexes, contestants.MutexCounter())
			collect(alone, &one.takes, source)
			m.columns = append(m.columns, one)
		}
		collect(j.load, &all.adds, contestants.AtomicAdd())
		collect(j.load, &all.mutexes, contestants.MutexCounter())
		m.columns = append(m.columns, all)
	}
	var before cached.Stats
	var mallocs uint64
	return append(list, turn{j.load, source, share,
		func() { before, mallocs = j.gen.Stats(), memStats().Mallocs },
		func(lap load.Lap) {
			m.mallocs += memStats().Mallocs - mallocs
			all.takes = append(all.takes, lap.WallNs())
			m.add(lap, before, j.gen.Stats())
		}})
}

func total(turns []turn) (sum time.Duration) {
	for _, t := range turns {
		sum += rounds * t.share
	}
	return sum
}

// add adds a lap of the load and the generator's counters of it.
func (m *measurement) add(lap load.Lap, before, after cached.Stats) {
	m.ids += lap.Total()
	m.issued += after.Issued - before.Issued
	m.wall += lap.Wall
	m.last = max(m.last, lap.Last)
	m.ring.RejectedTakes += after.RejectedTakes - before.RejectedTakes
	m.ring.InlinePads += after.InlinePads - before.InlinePads
	m.ring.PaddingPasses += after.PaddingPasses - before.PaddingPasses
	m.deltas += after.LastDelta - before.LastDelta
	m.after = after
}

func (m *measurement) run(ctx context.Context, turns []turn) error {
	for range rounds {
		for _, t := range turns {
			t.before()
			lap, err := t.load.Run(ctx, t.source, t.share)
			if err != nil {
				return err
			}
			t.done(lap)
		}
	}
	return nil
}

// generatorHeap returns the heap size of a generator with these settings. It makes a few, and so
// finds errors in the settings before a worker ID is taken.
func (s *settings) generatorHeap() (held int64, err error) {
	worker := int64(1)<<s.layout.WorkerBits - 1 // databases begin with small ones
	if worker == s.worker {
		worker /= 2 // else the generator proper would start above these
	}
	for range 3 { // the first also allocates the parts that all generators share
		before := liveHeap()
		g, err := cached.New(s.config(assigner.Static(worker)))
		if err != nil {
			return 0, &usageError{err}
		}
		held = max(0, liveHeap()-before)
		if err := g.Close(); err != nil {
			return 0, fmt.Errorf("generator not closed: %w", err)
		}
	}
	return held, nil
}

// liveHeap returns the bytes on the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // frees finalized objects
	return int64(memStats().HeapAlloc)
}

func memStats() (s runtime.MemStats) {
	runtime.ReadMemStats(&s)
	return s
}
