package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A chaosRun is one run. All that the processes tell comes together here.
type chaosRun struct {
	options  options
	alloc    *bitsalloc.Allocator
	server   *testserver.Server // its methods belong to the goroutine that runs
	database *database
	links    []*faultconn.Proxy
	slots    []*slot
	counter  *counter
	figures  *figures
	began    time.Time

	// A link that accepts connections again holds network for reading, a restore, during which
	// all links refuse connections, for writing.
	network sync.RWMutex

	mu       sync.Mutex
	failures []string // the first few
}

// newRun prepares the tables, the links and the slots. No process runs yet.
func newRun(ctx context.Context, o options, s *testserver.Server) (*chaosRun, error) {
	alloc, err := bitsalloc.New(layout(), bitsalloc.DefaultEpoch())
	if err != nil {
		return nil, err
	}
	r := &chaosRun{options: o, alloc: alloc, server: s, counter: newCounter(alloc), figures: newFigures()}
	if r.database, err = openDatabase(ctx, s.DSN(), alloc); err != nil {
		return nil, err
	}
	if err := r.database.occupy(ctx, o); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if r.links, err = newLinks(processes, s.Addr(), o.random(0)); err != nil {
		return nil, errors.Join(err, r.close())
	}
	for i := range processes {
		r.slots = append(r.slots, &slot{run: r, number: i, random: o.random(slotStream(i))})
	}
	return r, nil
}

// The sources of random numbers: 0 and 1 belong to the run.
func slotStream(i int) uint64 { return uint64(2 + 2*i) }
func linkStream(i int) uint64 { return uint64(3 + 2*i) }

func (r *chaosRun) close() error {
	for _, l := range r.links {
		l.Close()
	}
	return r.database.db.Close()
}

// execute runs the processes and the faults for the time chosen, then without faults until all
// worker IDs are in use again, and ends the processes. The error says why the run itself has
// failed.
func (r *chaosRun) execute(ctx context.Context) (err error) {
	r.began = time.Now()
	defer func() { err = errors.Join(err, r.endProcesses()) }()
	for _, s := range r.slots {
		if err := s.start(); err != nil {
			return err
		}
	}
	if err := r.faults(ctx); err != nil {
		return err
	}
	return r.calm(ctx)
}

// faults injects faults for the duration of the run. This goroutine injects the server's faults.
func (r *chaosRun) faults(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, r.options.duration)
	defer cancel()
	group, timed := errgroup.WithContext(timed)
	for i, s := range r.slots {
		group.Go(func() error { return s.faults(timed) })
		group.Go(func() error { return r.networkFaults(timed, r.links[i], r.options.random(linkStream(i))) })
	}
	err := r.serverFaults(ctx, timed, r.options.random(1))
	cancel()
	return errors.Join(err, group.Wait())
}

// serverFaults kills the server every few seconds, and puts the tables back to a dump from the
// middle of it, until timed ends.
func (r *chaosRun) serverFaults(ctx, timed context.Context, random *rand.Rand) error {
	wait := func() bool { return pause(timed, between(random, 500*time.Millisecond, 3*time.Second)) }
	for wait() {
		r.killServer(timed, random)
		if !wait() {
			break
		}
		taken, err := r.database.dump(ctx)
		if err != nil {
			return err
		}
		if !wait() {
			break
		}
		r.killServer(timed, random)
		if !wait() {
			break
		}
		if err := r.restore(ctx, taken); err != nil {
			return err
		}
	}
	return nil
}

// killServer leaves the server down for longer than a window at times.
func (r *chaosRun) killServer(timed context.Context, random *rand.Rand) {
	r.figures.count(deadServer)
	r.server.Kill9()
	if random.IntN(3) == 0 {
		pause(timed, between(random, 2*time.Second, 8*time.Second))
	}
	r.server.Restart()
}

// calm waits until each worker ID is in use again, without intervention.
func (r *chaosRun) calm(ctx context.Context) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := r.counter.perWorker()
	for pause(ctx, 100*time.Millisecond) {
		idle := 0
		for i, n := range r.counter.perWorker() {
			if n == before[i] {
				idle++
			}
		}
		if idle == 0 {
			return nil
		}
	}
	// By now every row that is held has been renewed.
	now := r.counter.perWorker()
	lookup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for worker := range now {
		if now[worker] == before[worker] && !r.database.held(lookup, int64(worker)) {
			return fmt.Errorf("%v after the last fault not all worker IDs are in use: IDs by worker ID were %d, are %d", patience, before, now)
		}
	}
	return nil
}

// endProcesses has all processes close their generators and end, and waits until all that they
// wrote is counted.
func (r *chaosRun) endProcesses() error {
	const patience = 30 * time.Second
	timer := time.NewTimer(patience)
	defer timer.Stop()
	running := slices.DeleteFunc(slices.Clone(r.slots), func(s *slot) bool { return s.child == nil })
	for _, s := range running {
		s.child.finish()
	}
	var errs []error
	for _, s := range running {
		select {
		case <-s.child.done:
		case <-timer.C:
			timer.Reset(0) // for the others
			errs = append(errs, fmt.Errorf("process %d has not ended in %v", s.child.profile.Number, patience))
			s.child.kill()
		}
	}
	return errors.Join(errs...)
}

// event handles an event of a process.
func (r *chaosRun) event(process int, e event) {
	r.figures.event(process, e)
	if e.Text != "" {
		r.fail("process %d: %s: an error that is not documented there: %s", process, e.Kind, e.Text)
	}
}

func (r *chaosRun) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) < mostFindings {
		r.failures = append(r.failures, fmt.Sprintf(format, args...))
	}
}

// line is the outcome so far in one line.
func (r *chaosRun) line() string {
	t, _ := r.counter.totals()
	return r.figures.line(t, time.Since(r.began))
}

// verdict returns the failures of the run. Without durable commits it ignores duplicates and
// worker IDs whose holder the server has forgotten: both are expected then.
func (r *chaosRun) verdict() error {
	t, findings := r.counter.totals()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, f := range r.failures {
		errs = append(errs, errors.New(f))
	}
	if r.options.durable() && t.duplicates+t.shared+t.foreign > 0 {
		errs = append(errs, fmt.Errorf("%d duplicates, %d shared blocks, %d IDs of foreign workers:\n%s",
			t.duplicates, t.shared, t.foreign, strings.Join(findings, "\n")))
	}
	if missing := r.figures.missing(); len(missing) > 0 || t.ids == 0 {
		errs = append(errs, fmt.Errorf("too little has happened: %d IDs, no %s", t.ids, strings.Join(missing, ", no ")))
	}
	return errors.Join(errs...)
}
