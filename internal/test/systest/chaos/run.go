package chaos

import (
	"context"
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A run is a server, the holders of its worker IDs and their judge.
type run struct {
	t      testing.TB
	judge  *judge
	server *testserver.Server // its methods belong to the goroutine of the test
	db     *sqlx.DB           // the operator's connection, which no fault is in
	store  leasestore.Store   // by db
	links  []*faultconn.Proxy // of the slots

	// A link that accepts connections again holds network for reading, a restore, during which
	// all links refuse connections, for writing.
	network sync.RWMutex
}

// newRun starts a server, mysql, mariadb or postgres, which syncs at each commit if flush is 1.
func newRun(t testing.TB, server string, flush int) *run {
	t.Helper()
	r := &run{t: t, judge: newJudge(flush == 1)}
	switch server {
	case "mysql":
		r.server = testserver.MySQL(t, "--innodb-flush-log-at-trx-commit="+strconv.Itoa(flush))
	case "mariadb":
		r.server = testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit="+strconv.Itoa(flush))
	case "postgres":
		// A server that starts again forks for all connections that wait for it, dead ones too. It
		// lets twice as many wait as it serves.
		r.server = testserver.PostgreSQL(t, "-c", "synchronous_commit="+strconv.FormatBool(flush == 1), "-c", "max_connections=100")
	default:
		t.Fatalf("server %q, want mysql, mariadb or postgres", server)
	}
	var err error
	r.db, err = open(r.server.DSN())
	testkit.Must(t, err)
	t.Cleanup(func() { _ = r.db.Close() })
	r.db.SetMaxOpenConns(1)
	r.db.SetMaxIdleConns(-1) // a kill of the server would leave a broken one
	_, err = sqlassigner.Apply(t.Context(), r.db, sqlassigner.Config{})
	testkit.Must(t, err)
	r.store = sqlassigner.LeaseStore(r.db, "chaos", sqlassigner.Config{})
	return r
}

// A child is the process of a holder.
type child struct {
	*process.Child
	profile profile
	first   chan first    // capacity 1: of its first generator
	killed  atomic.Bool   // by this run
	done    chan struct{} // closed when it has ended and its messages are counted
}

// start starts a holder. The judge hears its messages as they arrive, and the test fails if the
// process exits unexpectedly.
func (r *run) start(p profile) *child {
	p.Number = r.judge.count(started)
	p.AllowUndurable = !r.judge.durable
	c := &child{Child: process.Play(r.t, profileEnv, p), profile: p, first: make(chan first, 1), done: make(chan struct{})}
	r.t.Cleanup(c.kill)
	go func() {
		defer close(c.done)
		for decoder := gob.NewDecoder(c.Stdout); ; {
			var m message
			if decoder.Decode(&m) != nil { // the end, or a piece of a message that a kill has left
				break
			}
			r.judge.hear(p.Number, m)
			if m.First != nil {
				select {
				case c.first <- *m.First:
				default:
				}
			}
		}
		if err := c.Wait(); err != nil && !c.killed.Load() {
			r.t.Errorf("process %d ended by itself: %v", p.Number, err)
		}
	}()
	return c
}

// kill kills the process and waits until its IDs are counted.
func (c *child) kill() {
	c.killed.Store(true)
	c.Kill()
	<-c.done
}

// command sends a line, which does not wait for the process: the pipe has room.
func (c *child) command(line string) {
	_, _ = fmt.Fprintln(c.Stdin, line) // an error says that it has ended
}

// end has the process close its generator and end.
func (c *child) end(t testing.TB) {
	_ = c.Stdin.Close()
	select {
	case <-c.done:
	case <-time.After(30 * time.Second):
		c.kill()
		t.Errorf("process %d has not ended", c.profile.Number)
	}
}

// chaos runs holders in all slots, with random faults for a time, then without faults until all
// worker IDs are held again.
func (r *run) chaos(lasts time.Duration, seed uint64) {
	all := make([]*slot, slots)
	for i := range all {
		link := faultconn.Start(r.t, r.server.Addr())
		r.links = append(r.links, link)
		all[i] = &slot{run: r, number: i, random: rand.New(rand.NewPCG(seed, uint64(3*i)))}
		all[i].start()
	}
	timed, cancel := context.WithTimeout(r.t.Context(), lasts)
	defer cancel()
	var group sync.WaitGroup
	for i, s := range all {
		when := rand.New(rand.NewPCG(seed, uint64(3*i+1)))
		group.Go(func() { inject(timed, r, when, 2*time.Second, 12*time.Second, s.faults()) })
		random := rand.New(rand.NewPCG(seed, uint64(3*i+2)))
		group.Go(func() { inject(timed, r, random, time.Second, 8*time.Second, r.networkFaults(r.links[i], random)) })
	}
	when := rand.New(rand.NewPCG(seed, 3*slots))
	rolling := fault{deployed, 1, func(ctx context.Context) error { return deploy(ctx, all) }}
	group.Go(func() { inject(timed, r, when, 2*time.Second, 20*time.Second, []fault{rolling}) })
	random := rand.New(rand.NewPCG(seed, 3*slots+1))
	inject(timed, r, random, 500*time.Millisecond, 3*time.Second, r.serverFaults(random))
	group.Wait()
	r.calm()
	for _, s := range all {
		s.child.end(r.t)
	}
}

// calm waits until holders have all worker IDs again, and issue IDs, without intervention.
func (r *run) calm() {
	r.t.Helper()
	before := r.judge.of(differentIDs)
	testkit.Succeeds(r.t, "all worker IDs are held after the last fault, and IDs come", func() error {
		status, err := r.store.Status(r.t.Context())
		if err != nil {
			return err
		}
		rows, err := r.store.List(r.t.Context())
		held := 0
		for _, row := range rows {
			if !row.Free() && row.Expires.After(status.Now) {
				held++
			}
		}
		if issued := r.judge.of(differentIDs) - before; err == nil && (held < workers || issued == 0) {
			err = fmt.Errorf("%d worker IDs are held, %d IDs have come", held, issued)
		}
		return err
	})
}
