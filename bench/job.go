package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the embedded database

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/schema"
)

// A job is the flags of the main job and its generator.
type job struct {
	flags *flag.FlagSet

	dsn        string
	create     bool
	cfg        cached.Config
	goroutines int
	duration   time.Duration
	check      int64

	gen *cached.Generator
}

func jobCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	j := &job{flags: flags}
	flags.StringVar(&j.dsn, "dsn", "", "MySQL or MariaDB with the table WORKER_NODE, as `USER:PASSWORD@tcp(HOST:PORT)/DATABASE`;\neach start uses up a worker ID and ties the table to the layout: use a separate database\n(default SQLite in a temporary folder)")
	flags.BoolVar(&j.create, "create", false, "create the missing tables of that database")
	layoutFlag(flags, &j.cfg.Layout, bitsalloc.Default())
	flags.IntVar(&j.cfg.BoostPower, "boost-power", 3, "the ring holds 2^`N` blocks of 2^sequence IDs")
	flags.IntVar(&j.cfg.PaddingFactor, "padding-factor", 50, "`percentage` left in the ring that wakes the padding goroutine, 1 to 99")
	flags.IntVar(&j.goroutines, "goroutines", runtime.GOMAXPROCS(0), "goroutines that take IDs, from 1")
	flags.DurationVar(&j.duration, "duration", 3*time.Second, "time to measure, baselines included")
	flags.Int64Var(&j.check, "check", 100_000_000, "`IDs` to take and check afterwards; 0: none")
	return j.run
}

func layoutFlag(flags *flag.FlagSet, layout *bitsalloc.Layout, preset bitsalloc.Layout) {
	flags.TextVar(layout, "layout", preset, "`name` of a preset: default, recommended, baidu, snowflake, javascript; or widths such as 41/0/10/12@1ms")
}

func (j *job) run(ctx context.Context, w io.Writer) (err error) {
	if j.goroutines < 1 || j.duration <= 0 || j.check < 0 {
		return fmt.Errorf("-goroutines %d, -duration %v, -check %d; allowed: at least 1, 1ns, 0", j.goroutines, j.duration, j.check)
	}
	facts := report.NewFacts(commandLine(j.flags))
	db, closeDatabase, err := openDatabase(ctx, j.dsn, j.create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDatabase()) }()
	j.cfg.Assigner = sqlassigner.Disposable(db, sqlassigner.Config{})
	j.cfg.MaxStaleness = max(time.Minute, 2*j.cfg.Layout.Unit) // the least that long units allow
	if j.gen, err = cached.NewContext(ctx, j.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.gen.Close()) }()

	if err := show(w, func(p *report.Page) { j.printGenerator(p, facts) }); err != nil {
		return err
	}
	err = j.measure(ctx, w)
	if errors.Is(err, cached.ErrTimeExhausted) {
		err = fmt.Errorf("%w; this run has used up all remaining deltas: choose a -layout with more delta or sequence bits", err)
	}
	return err
}

// measure runs the phases: throughput beside the baselines, the time of single calls, the check.
func (j *job) measure(ctx context.Context, w io.Writer) error {
	before := j.gen.Stats()
	all := j.events()
	if err := hold(ctx, all, rounds, j.duration/time.Duration(rounds*len(all))); err != nil {
		return err
	}
	if err := show(w, func(p *report.Page) { j.printThroughput(p, all, before) }); err != nil {
		return err
	}
	// Timing every call would slow the goroutines down until they no longer contend.
	const most, every = 1 << 25, 32
	calls := int(min(float64(min(time.Second, j.duration))/all.find(contestants.Next, j.goroutines).ns(), most))
	times, err := load.Pace(ctx, j.goroutines, calls, every, 0, func() error { _, err := j.gen.Next(); return err })
	if err != nil {
		return err
	}
	if err := show(w, func(p *report.Page) { j.printTimes(p, times) }); err != nil || j.check == 0 {
		return err
	}
	c := &count{layout: j.cfg.Layout, gen: j.gen, goroutines: j.goroutines, target: j.check}
	if err := c.run(ctx); err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	_, err = fmt.Fprintf(w, "checked: %s more IDs in %s, all different, of this worker, in order: 0 duplicates\n",
		report.Comma(c.taken.Load()), report.Ns(float64(c.wall)))
	return err
}

// rounds is the number of times that the generator and the baselines take turns: on a noisy
// machine only figures of the same moment compare.
const rounds = 5

// events are the generator, the atomic add and the counter with a mutex, on one and on all
// goroutines.
func (j *job) events() results {
	source := gauge.Next(j.gen)
	source.Close = gauge.Nothing // there are more phases
	list := []contestants.Contestant{{Name: contestants.Next, Open: func(context.Context, int64) (gauge.Source, error) { return source, nil }}}
	for _, c := range contestants.All() {
		if c.Name == contestants.AtomicAdd || c.Name == contestants.MutexCounter {
			c.Crowd = false
			list = append(list, c)
		}
	}
	return events(list, j.goroutines, nil)
}

func (j *job) printGenerator(p *report.Page, facts report.Facts) {
	source := "SQLite in a temporary folder"
	if j.dsn != "" {
		source = "the database of -dsn"
	}
	s := j.gen.Stats()
	p.Facts(facts)
	fmt.Fprintf(p, "worker ID: %s, %v, from the table WORKER_NODE of %s\n", report.Comma(s.WorkerID), s.Guarantee, source)
	p.Text("ring:      %s IDs in 2^%d blocks, layout %v, padding at %d %%", report.Comma(s.Capacity), j.cfg.BoostPower, j.cfg.Layout, j.cfg.PaddingFactor)
}

func (j *job) printThroughput(p *report.Page, all results, before cached.Stats) {
	s := j.gen.Stats()
	t := report.NewTable("wall time per ID", "goroutines", "IDs per second", "time per ID", "× atomic add")
	for _, e := range all {
		t.Add(e.Name, report.Comma(e.goroutines), report.Comma(int64(1e9/e.ns())), report.Ns(e.ns()), report.Figure(all.timesAdd(e)))
	}
	p.Table(t)
	p.Note(all.starved())
	pads := s.InlinePads - before.InlinePads
	fmt.Fprintf(p, "ring:      %s IDs issued, %s padding passes, %s blocks put by callers, ID time now %v ahead of the clock\n",
		report.Comma(s.Issued-before.Issued), report.Comma(s.PaddingPasses-before.PaddingPasses), report.Comma(pads), s.Ahead.Round(time.Second))
	verdict := "good"
	if pads > 0 {
		verdict = "not good: each is a slow call; go run ./bench tune finds a ring for your load"
	}
	fmt.Fprintf(p, "blocks put by callers: %s\nahead: bad only if it stays. After a burst it falls, if callers take less than %s IDs in %v on average\n",
		verdict, report.Comma(int64(1)<<j.cfg.Layout.SequenceBits), j.cfg.Layout.Unit)
	if wide := bitsalloc.Recommended(); j.cfg.Layout.SequenceBits < wide.SequenceBits {
		fmt.Fprintln(p, "This layout has few IDs in a unit. On the recommended one: go run ./bench -layout recommended")
	}
	fmt.Fprintln(p)
}

func (j *job) printTimes(p *report.Page, times []time.Duration) {
	at := func(share float64) string { return report.At(times, share) }
	p.Text("one call of Next, flat out on %s, reading the clock included, %s timed:\n"+
		"p50 %s, p99 %s, p99.9 %s, p99.99 %s, longest %s (pauses by the scheduler included)",
		report.Goroutines(j.goroutines), report.Comma(len(times)), at(0.5), at(0.99), at(0.999), at(0.9999), at(1))
}

// openDatabase opens the database with the table WORKER_NODE: MySQL or MariaDB if there is a
// DSN, and otherwise SQLite in a temporary folder, which the close func removes. With create, it
// creates missing tables.
func openDatabase(ctx context.Context, dsn string, create bool) (db *sqlx.DB, close func() error, err error) {
	folder := "" // of SQLite
	if dsn != "" {
		db, err = sqlassigner.OpenMySQL(dsn)
	} else if folder, err = os.MkdirTemp("", "uidring-bench-"); err == nil {
		name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(folder, "worker_node.db")), RawQuery: "_pragma=synchronous(EXTRA)"}
		db, err = sqlx.Open("sqlite", name.String())
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	close = func() error { return errors.Join(db.Close(), os.RemoveAll(folder)) }
	if create || dsn == "" {
		if _, err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}, schema.Nodes); err != nil {
			return nil, nil, errors.Join(err, close())
		}
	}
	return db, close, nil
}
