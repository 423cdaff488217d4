package segmenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// childEnv is the environment variable that makes the test binary a child process.
const childEnv = "UIDRING_SEGMENTTEST_CHILD"

// A role tells a child process its counter and the argument of its source.
type role struct{ Counter, Arg string }

// killStep is the size of the ranges of the child processes.
const killStep = 64

// Child runs a child process of [Kills] if the test binary was started as one; otherwise it does
// nothing. Call it first in TestMain. open builds the source from the child's argument, such as a
// DSN. In a child, Child does not return: it writes IDs to its output until it is killed.
func Child(open func(arg string) (segment.Source, error)) {
	var r role
	ok, err := process.Role(childEnv, &r)
	if !ok {
		return
	}
	if err == nil {
		err = r.issue(open)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (r role) issue(open func(arg string) (segment.Source, error)) error {
	source, err := open(r.Arg)
	if err != nil {
		return err
	}
	cfg := segment.Config{Name: r.Counter, Source: source, Step: killStep, MaxStep: killStep, FetchTimeout: patience}
	g, err := segment.New(cfg)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); g, err = segment.New(cfg) {
		testkit.Pause(context.Background(), 20*time.Millisecond) // the store may be down
	}
	for err == nil {
		var id int64
		if id, err = g.NextContext(context.Background()); err == nil {
			_, err = fmt.Println(id)
		}
	}
	return err
}

// Kills runs processes that share a counter and issue IDs. It kills each after a random number of
// IDs, and starts another in its place. Meanwhile it ends the store by kill, as a crash does, and
// starts it with the same data by restart; kill may be nil. It counts every ID and checks the
// number of lost IDs: three ranges for each process, two of them in its hands and one being
// fetched, and for each outage a range of each process that was running. arg is the argument of the
// children's sources. The package's TestMain must call [Child].
//
// The faults go on for a second, or as long as the environment variable UIDRING_KILLS says, such as
// 10m. Kills skips a test that is to be short.
func Kills(t *testing.T, f Fixture, arg string, kill, restart func()) {
	if testing.Short() {
		t.Skip("waits by the real clock")
	}
	const places = 3
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("UIDRING_KILLS"), "1s"))
	if err != nil {
		t.Fatalf("UIDRING_KILLS: %v", err)
	}
	k := &killing{t: t, role: role{f.counter(t), arg}}
	var group errgroup.Group
	var calm atomic.Bool // after the last fault
	for range places {
		group.Go(func() error {
			for last := false; !last; { // the last process begins after the faults
				last = calm.Load()
				if err := k.live(1 + rand.IntN(1000)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	outages := killStore(t.Context(), lasts, kill, restart)
	calm.Store(true)
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d processes, %d outages", k.lives.Load(), outages)
	// The pipe holds 64 KiB of IDs that were issued and not read: live reads them all after the
	// kill, so that only the ID that was being written is missing.
	most := k.lives.Load()*(3*killStep+1) + outages*places*killStep
	lost := (f.advance(t, f.Open(t), k.role.Counter, 1).First-1)/f.delta() - int64(k.all.Len())
	t.Logf("%d IDs issued, %d lost, allowed: %d", k.all.Len(), lost, most)
	if lost < 0 || lost > most {
		t.Errorf("%d IDs lost of %d, allowed: 0 to %d", lost, k.all.Len(), most)
	}
}

// killStore kills and restarts the store for a time, twice at least, and returns how often.
func killStore(ctx context.Context, lasts time.Duration, kill, restart func()) (outages int64) {
	if kill == nil {
		testkit.Pause(ctx, lasts)
		return 0
	}
	for end := time.Now().Add(lasts); outages < 2 || time.Now().Before(end); outages++ {
		testkit.Pause(ctx, rand.N(300*time.Millisecond))
		kill()
		if rand.IntN(2) == 0 {
			testkit.Pause(ctx, rand.N(300*time.Millisecond))
		}
		restart()
	}
	return outages
}

// A killing is a call of Kills.
type killing struct {
	t     *testing.T
	role  role
	all   idset.Set
	lives atomic.Int64
}

// live starts a process, kills it after it has issued some IDs, or when it has not done so in time,
// and counts all of its IDs.
func (k *killing) live(ids int) error {
	k.lives.Add(1)
	c, err := process.StartChild(process.Again(childEnv, k.role))
	if err != nil {
		return err
	}
	timer := time.AfterFunc(patience, c.Kill)
	defer func() {
		timer.Stop()
		c.Kill()
		_, _ = c.Stdin.Close(), c.Stdout.Close() // all output has been read
	}()
	var last int64
	for n := 1; ; n++ {
		line, err := c.Line()
		if err != nil && n > ids {
			return nil // killed; the line is incomplete
		}
		id, errParse := strconv.ParseInt(line, 10, 64)
		if err = errors.Join(err, errParse); err != nil {
			return fmt.Errorf("the process has issued %d IDs, want %d at least: %w", n-1, ids, err)
		}
		if id <= last {
			k.t.Errorf("a process issued ID %d after %d", id, last)
		}
		last = id
		k.all.Once(k.t, id)
		if n == ids {
			c.Kill()
		}
	}
}
