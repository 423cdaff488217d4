package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A fleet holds n leases as n processes would: each member has a generator, which renews its lease,
// and a handle with one connection, if the server allows as many.
type fleet struct {
	n, atOnce      int
	dsn, namespace string
	steady, window time.Duration
	create         bool

	server  *fleetServer
	admin   *sqlx.DB
	members []member
	shared  []*sqlx.DB // the handles, when the server allows fewer connections than members
	table   *report.Table

	mu       sync.Mutex
	starts   []time.Duration // of the present phase
	failures map[string]int  // of the present phase
	lines    []string        // of the failures of all phases
	renewals int64           // of generators that have ended
}

// A member stands for a process.
type member struct {
	db  *sqlx.DB
	gen *defaultgen.Generator // nil if it has not started
}

const (
	startTimeout = 30 * time.Second // the default of package defaultgen
	few          = 16               // members that end and start again at a time in the rolling restart
	reserved     = 10               // connections that are left to others
	mostTexts    = 5                // of failures in a phase
	mostTries    = 20               // of a start
)

// fleetLayout has 65,536 worker IDs.
var fleetLayout = bitsalloc.Layout{DeltaBits: 31, WorkerBits: 16, SequenceBits: 16, Unit: time.Second}

func fleetCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &fleet{namespace: "fleet-" + time.Now().UTC().Format("20060102-150405.000")}
	flags.StringVar(&f.dsn, "dsn", "", "MySQL or MariaDB with the tables of leases, as `USER:PASSWORD@tcp(HOST:PORT)/DATABASE`,\nor PostgreSQL as postgres://USER:PASSWORD@HOST:PORT/DATABASE; each run adds a namespace: use a separate database")
	flags.BoolVar(&f.create, "create", false, "create the missing tables of that database")
	flags.IntVar(&f.n, "n", 1000, "`leases`, 1 to 65,536")
	flags.IntVar(&f.atOnce, "at-once", 0, "`starts` at the same time in the first phase; 0: all")
	flags.DurationVar(&f.steady, "for", time.Minute, "time of steady renewals; with the default window a lease is renewed every 45 s")
	flags.DurationVar(&f.window, "window", 2*time.Minute, "window of a lease")
	return func(ctx context.Context, w io.Writer) error {
		if f.dsn == "" || f.n < 1 || f.n > 1<<fleetLayout.WorkerBits || f.atOnce < 0 || f.steady < 0 || f.window < time.Second {
			return fmt.Errorf("-n %d, -at-once %d, -for %v, -window %v; allowed: 1 to 65,536, at least 0, 0s, 1s, and a -dsn", f.n, f.atOnce, f.steady, f.window)
		}
		return f.run(ctx, w, report.NewFacts(commandLine(flags)))
	}
}

func (f *fleet) run(ctx context.Context, w io.Writer, facts report.Facts) (err error) {
	f.server = newFleetServer(f.dsn)
	if f.admin, err = f.server.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.admin.Close()) }()
	if f.create {
		if _, err := sqlassigner.Apply(ctx, f.admin, sqlassigner.Config{}); err != nil {
			return err
		}
	}
	version, allowed, err := f.server.learn(ctx, f.admin)
	if err != nil {
		return err
	}
	if err := f.share(allowed - reserved); err != nil {
		return err
	}
	f.table = report.NewTable("phase", "time", "starts", "renewals", "statements", "a second", "server's CPUs", "row lock waits", "start p50", "p99", "longest", "failures")
	atOnce := cmp.Or(f.atOnce, f.n)
	for _, phase := range []struct {
		name string
		run  func()
	}{
		{"start", func() { f.each(atOnce, func(m *member) error { return f.start(ctx, m) }) }},
		{"steady", func() { testkit.Pause(ctx, f.steady) }},
		{"rolling restart", func() {
			f.each(few, func(m *member) error { return errors.Join(f.stop(m), f.start(ctx, m)) })
		}},
		{"close", func() { f.each(f.n, f.stop) }},
	} {
		err = errors.Join(err, f.phase(ctx, phase.name, phase.run))
	}
	meta, errMeta := f.store(f.admin).LoadMeta(context.WithoutCancel(ctx))
	for _, db := range f.shared {
		err = errors.Join(err, db.Close())
	}
	if err = errors.Join(err, errMeta, ctx.Err()); err != nil {
		return err
	}
	return show(w, func(p *report.Page) {
		p.Facts(facts)
		p.Text("server %s; %s on %s; %s start and all close at once, and %s at a time in the rolling restart; %s given out in namespace %s", version,
			report.Counted(f.n, "lease"), report.Counted(cmp.Or(len(f.shared), f.n), "connection"), report.Comma(atOnce), report.Comma(few), report.Counted(meta.NextWorkerID, "worker ID"), f.namespace)
		p.Table(f.table)
		for _, line := range f.lines {
			p.Text("%s", line)
		}
	})
}

// share makes the members, and their handles when the server allows fewer connections.
func (f *fleet) share(allowed int) (err error) {
	f.members = make([]member, f.n)
	if allowed >= f.n {
		return nil
	}
	f.shared = make([]*sqlx.DB, max(allowed, 1))
	for i := range f.shared {
		if f.shared[i], err = f.open(); err != nil {
			return err
		}
	}
	for i := range f.members {
		f.members[i].db = f.shared[i%len(f.shared)]
	}
	return nil
}

func (f *fleet) open() (*sqlx.DB, error) {
	db, err := f.server.open()
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func (f *fleet) store(db *sqlx.DB) leasestore.Store {
	return sqlassigner.LeaseStore(db, f.namespace, sqlassigner.Config{})
}

// start starts a member, and again when that fails, as a process that is restarted.
func (f *fleet) start(ctx context.Context, m *member) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := f.startOnce(ctx, m)
		if err == nil {
			break
		}
		if err = errors.Join(err, f.stop(m)); try == mostTries || ctx.Err() != nil {
			return err
		}
		f.fail(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starts = append(f.starts, time.Since(began))
	return nil
}

func (f *fleet) startOnce(ctx context.Context, m *member) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if f.shared == nil {
		if m.db, err = f.open(); err != nil {
			return err
		}
	}
	m.gen, err = defaultgen.NewContext(ctx, defaultgen.Config{
		Layout:   fleetLayout,
		Assigner: assigner.Leased(f.store(m.db), assigner.LeaseConfig{Window: f.window}),
		Trace: defaultgen.Trace{
			RenewFailed: func(i assigner.LeaseInfo) { f.fail(fmt.Errorf("renewal: %w", i.Err)) },
			LeaseLost:   func(i assigner.LeaseInfo) { f.fail(i.Err) },
		},
	})
	return err
}

// stop ends a member.
func (f *fleet) stop(m *member) (err error) {
	if m.gen != nil {
		err = m.gen.Close()
		f.mu.Lock()
		f.renewals += m.gen.Stats().Renewals
		f.mu.Unlock()
		m.gen = nil
	}
	if f.shared == nil && m.db != nil {
		err = errors.Join(err, m.db.Close())
		m.db = nil
	}
	return err
}

// each does a thing for each member, a number at a time.
func (f *fleet) each(number int, do func(*member) error) {
	var group errgroup.Group
	group.SetLimit(number)
	for i := range f.members {
		group.Go(func() error {
			if err := do(&f.members[i]); err != nil {
				f.fail(err)
			}
			return nil
		})
	}
	_ = group.Wait()
}

var digits = regexp.MustCompile(`\d+`)

// fail counts failures by their texts without numbers.
func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[digits.ReplaceAllString(strings.ReplaceAll(err.Error(), "\n", "; "), "…")]++
}

// phase runs a phase, and adds its row to the table, and the texts of its failures, the most
// frequent first.
func (f *fleet) phase(ctx context.Context, name string, run func()) error {
	f.starts, f.failures = nil, make(map[string]int)
	before, err := f.sample(ctx)
	began := time.Now()
	run()
	wall := time.Since(began)
	after, errAfter := f.sample(ctx)
	if err = errors.Join(err, errAfter); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.starts)
	failed, texts := 0, slices.Collect(maps.Keys(f.failures))
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(f.failures[b]-f.failures[a], cmp.Compare(a, b)) })
	for i, text := range texts {
		failed += f.failures[text]
		if i < mostTexts {
			f.lines = append(f.lines, fmt.Sprintf("%s: %s: %s", name, report.Counted(f.failures[text], "failure"), text))
		}
	}
	asked, perSecond, waits := report.None, report.None, report.None
	if n, ok := after.counters[statements]; ok {
		n -= before.counters[statements] + 1 // a sample is one
		asked, perSecond = report.Comma(n), report.Comma(int64(float64(n)/wall.Seconds()))
	}
	if n, ok := after.counters[lockWaits]; ok {
		waits = report.Comma(n - before.counters[lockWaits])
	}
	f.table.Add(name, report.Ns(float64(wall)), report.Comma(len(f.starts)), report.Comma(after.renewals-before.renewals), asked, perSecond,
		report.Figure(float64(after.cpu-before.cpu)/float64(wall)), waits, report.At(f.starts, 0.5), report.At(f.starts, 0.99), report.At(f.starts, 1), report.Comma(failed))
	return nil
}

// A sample is a reading of the counters.
type sample struct {
	counters map[string]int64 // of the server
	renewals int64
	cpu      time.Duration // of the server
}

func (f *fleet) sample(ctx context.Context) (s sample, err error) {
	s.counters, err = f.server.count(context.WithoutCancel(ctx), f.admin)
	s.cpu, s.renewals = f.server.cpu(), f.renewals
	for _, m := range f.members {
		if m.gen != nil {
			s.renewals += m.gen.Stats().Renewals
		}
	}
	return s, err
}
