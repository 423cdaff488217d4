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

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A fault is named as the judge counts it. It ends soon after ctx, and leaves all in order.
type fault struct {
	name   string
	weight int // of 10
	inject func(ctx context.Context) error
}

// inject injects one fault after another, with pauses, until ctx ends.
func inject(ctx context.Context, r *run, random *rand.Rand, least, most time.Duration, faults []fault) {
	var script []fault
	for _, f := range faults {
		script = append(script, slices.Repeat([]fault{f}, f.weight)...)
	}
	for testkit.Pause(ctx, between(random, least, most)) {
		f := script[random.IntN(len(script))]
		r.judge.count(f.name)
		if err := f.inject(ctx); err != nil {
			r.t.Errorf("%s: %v", f.name, err)
			return
		}
	}
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// A slot has one holder after another, at times two at once.
type slot struct {
	*run
	number int

	mu     sync.Mutex // held during a fault
	random *rand.Rand
	child  *child
}

// start puts a new holder into the slot. Its kind is the slot's.
func (s *slot) start() {
	r := s.random
	p := profile{
		DSN:     strings.Replace(s.server.DSN(), s.server.Addr(), s.links[s.number].Addr(), 1),
		Kind:    "leased",
		Owner:   fmt.Sprintf("slot %d", s.number),
		Window:  between(r, 2*time.Second, 5*time.Second),
		MaxLead: maxLead,
		MaxSkew: maxSkew,
		Rate:    []int{100, 1_000, 7_500, 10_000, 25_000, 50_000}[r.IntN(6)],
	}
	switch s.number % 5 {
	case 3:
		p.Kind = "auto"
	case 4:
		p.Kind, p.WorkerID = "fenced", int64(s.number%workers)
	}
	s.child = s.run.start(p)
}

func (s *slot) faults() []fault {
	faults := []fault{
		{killed, 3, func(context.Context) error {
			s.child.kill()
			s.start()
			return nil
		}},
		{stopped, 4, s.stop},
		{replaced, 1, s.replace},
		{wrongClock, 2, s.wrongClock},
		{crashLoop, 1, s.crashLoop},
	}
	for i, f := range faults {
		faults[i].inject = func(ctx context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			return f.inject(ctx)
		}
	}
	return faults
}

// crashLoop kills the holder again and again, and starts it again at once.
func (s *slot) crashLoop(ctx context.Context) error {
	for range 5 + s.random.IntN(16) {
		s.judge.count(killed)
		s.child.kill()
		s.start()
		if !testkit.Pause(ctx, between(s.random, time.Second, 3*time.Second)) {
			break
		}
	}
	return nil
}

// deploy replaces the holder of each slot in turn, as a rolling deployment does: one more starts,
// then the oldest closes its generator and ends. A Fenced holder ends first, as in a StatefulSet.
// deploy leaves out slots with another fault in progress.
func deploy(ctx context.Context, slots []*slot) error {
	replace := func(s *slot) {
		if !s.mu.TryLock() {
			return
		}
		defer s.mu.Unlock()
		old := s.child
		if old.profile.Kind == "fenced" {
			old.end(s.t)
		}
		s.start()
		testkit.Pause(ctx, between(s.random, 0, time.Second))
		old.end(s.t)
		s.judge.count(ended)
	}
	for _, s := range slots {
		if ctx.Err() == nil {
			replace(s)
		}
	}
	return nil
}

// stop stops the holder until its lease has expired. It goes on as if nothing had happened.
func (s *slot) stop(ctx context.Context) error {
	_ = s.child.Pause()
	testkit.Pause(ctx, 2*s.child.profile.Window+between(s.random, 500*time.Millisecond, 4*time.Second))
	_ = s.child.Continue()
	return nil
}

// replace starts a successor while the holder is stopped, as a supervisor does that takes it for
// dead. Then both run.
func (s *slot) replace(ctx context.Context) error {
	old := s.child
	_ = old.Pause()
	testkit.Pause(ctx, between(s.random, 0, 2*time.Second))
	s.start()
	testkit.Pause(ctx, between(s.random, time.Second, 10*time.Second))
	_ = old.Continue()
	testkit.Pause(ctx, between(s.random, time.Second, 3*time.Second))
	old.kill()
	return nil
}

// wrongClock makes the holder take its next lease with a clock error up to maxSkew, or above.
func (s *slot) wrongClock(ctx context.Context) error {
	off := between(s.random, 0, maxSkew-10*time.Second)
	if s.random.IntN(3) == 0 {
		off = maxSkew + between(s.random, 10*time.Second, time.Minute)
	}
	if s.random.IntN(2) == 0 {
		off = -off
	}
	s.child.command(off.String() + again)
	testkit.Pause(ctx, between(s.random, time.Second, 8*time.Second))
	s.child.command([]string{"0s", "0s" + again}[s.random.IntN(2)])
	return nil
}

// networkFaults are the faults of a link. Most cuts in the middle of a statement or of an answer;
// Mute lets nothing through until the connection ends, or sends it late.
func (r *run) networkFaults(link *faultconn.Proxy, random *rand.Rand) []fault {
	upTo := func(most time.Duration) time.Duration { return between(random, time.Millisecond, most) }
	lasts := func() time.Duration { return between(random, 100*time.Millisecond, 3*time.Second) }
	return []fault{
		{badNetwork, 8, func(ctx context.Context) error {
			heal := link.Inject([]faultconn.Direction{faultconn.Up, faultconn.Down}[random.IntN(2)], []faultconn.Fault{
				{Delay: upTo(800 * time.Millisecond)},
				{Most: 1 + random.IntN(1500)},
				{Mute: true},
			}[random.IntN(3)])
			testkit.Pause(ctx, lasts())
			if random.IntN(2) == 0 {
				r.network.RLock() // waits while all links are down
				defer r.network.RUnlock()
				link.Down()()
			}
			heal()
			return nil
		}},
		{badNetwork, 2, func(ctx context.Context) error {
			up := link.Down()
			testkit.Pause(ctx, lasts())
			r.network.RLock() // waits while all links are down
			defer r.network.RUnlock()
			up()
			return nil
		}},
	}
}

// serverFaults are for the goroutine of the test.
func (r *run) serverFaults(random *rand.Rand) []fault {
	kill := func(ctx context.Context) error {
		r.server.Kill9()
		if random.IntN(3) == 0 { // for longer than a window at times
			testkit.Pause(ctx, between(random, 2*time.Second, 8*time.Second))
		}
		r.server.Restart()
		return nil
	}
	return []fault{
		{deadServer, 5, kill},
		{restored, 5, func(ctx context.Context) error {
			err := r.copyRows("DROP TABLE IF EXISTS COPY_OF_%s", "CREATE TABLE COPY_OF_%[1]s AS SELECT * FROM %[1]s")
			if err != nil {
				return err
			}
			if testkit.Pause(ctx, between(random, 500*time.Millisecond, 3*time.Second)) {
				r.judge.count(deadServer)
				err = kill(ctx)
			}
			testkit.Pause(ctx, between(random, 500*time.Millisecond, 3*time.Second))
			return errors.Join(err, r.restore())
		}},
	}
}

// copyRows runs statements for each table of leases.
func (r *run) copyRows(statements ...string) error {
	for _, table := range []string{"WORKER_LEASE_META", "WORKER_LEASE"} {
		for _, statement := range statements {
			if _, err := r.db.ExecContext(r.t.Context(), fmt.Sprintf(statement, table)); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore follows the run book for a restore: it cuts holders off from the database, puts the
// copies of the tables back, and recovers the namespace. Holders that are stopped meanwhile find
// changed fences afterwards.
func (r *run) restore() error {
	r.network.Lock()
	defer r.network.Unlock()
	for _, l := range r.links {
		defer l.Down()()
	}
	if err := r.quiet(r.t.Context()); err != nil {
		return err
	}
	if err := r.copyRows("DELETE FROM %s", "INSERT INTO %[1]s SELECT * FROM COPY_OF_%[1]s"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	for { // a busy server may not answer in time; Recover then goes on where it stopped
		err := leasestore.Recover(ctx, r.store, leasestore.Recovery{Lead: recoveryLead})
		if err == nil || !testkit.Pause(ctx, time.Second) {
			return err
		}
	}
}

// quiet waits until no session is left but the operator's. A statement whose connection was cut may
// be under way.
func (r *run) quiet(ctx context.Context) error {
	sessions := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler')"
	if r.db.DriverName() == "pgx" {
		sessions = "SELECT COUNT(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
	}
	for {
		var others int
		err := r.db.GetContext(ctx, &others, sessions)
		if err != nil || others == 0 {
			return err
		}
		testkit.Pause(ctx, 10*time.Millisecond)
	}
}
