package segmenttest

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
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
	cfg := segment.Config{Name: r.Counter, Source: source, Step: killStep, MaxStep: killStep, Timeout: patience}
	g, err := segment.New(cfg)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); g, err = segment.New(cfg) {
		pause(20 * time.Millisecond) // the store may be down
	}
	if err != nil {
		return err
	}
	for {
		id, err := g.NextContext(context.Background())
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(binary.BigEndian.AppendUint64(nil, uint64(id))); err != nil {
			return err
		}
	}
}

// Kills runs processes that share a counter and issue IDs. It kills each after a random time or
// number of IDs, freezes some before, and starts another in its place. Meanwhile it ends the store
// by kill, as a crash does, and starts it with the same data by restart; kill may be nil. It counts
// every ID and checks the number of lost IDs: three ranges for each process, two of them in its
// hands and one being fetched, and for each outage a range of each process that was running. arg is
// the argument of the children's sources. The package's TestMain must call [Child].
//
// The faults go on for a second, or as long as the environment variable UIDRING_KILLS says, such as
// 10m.
func Kills(t *testing.T, f Fixture, arg string, kill, restart func()) {
	const places = 3
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("UIDRING_KILLS"), "1s"))
	if err != nil {
		t.Fatalf("UIDRING_KILLS: %v", err)
	}
	k := &killing{t: t, role: role{f.counter(t), arg}, calm: make(chan struct{})}
	outages := func() int64 {
		defer k.places.Wait()
		defer close(k.calm)
		for range places {
			k.places.Go(k.lead)
		}
		return killStore(lasts, kill, restart)
	}()
	t.Logf("%d processes, %d outages", k.lives.Load(), outages)
	// The pipe holds 64 KiB of IDs that were issued and not read: live reads them all after the
	// kill, so that only the ID that was being written is missing.
	f.checkLost(t, k.role.Counter, &k.all, k.lives.Load()*(3*killStep+1)+outages*places*killStep)
}

// checkLost compares the counter with the IDs issued.
func (f Fixture) checkLost(t *testing.T, name string, all *idset.Set, most int64) {
	t.Helper()
	lost := (f.advance(t, f.Open(t), name, 1).First-1)/f.delta() - int64(all.Len())
	t.Logf("%d IDs issued, %d lost, allowed: %d", all.Len(), lost, most)
	if lost < 0 || lost > most {
		t.Errorf("%d IDs lost of %d, allowed: 0 to %d", lost, all.Len(), most)
	}
}

// killStore kills and restarts the store for a time, twice at least, and returns how often.
func killStore(lasts time.Duration, kill, restart func()) (outages int64) {
	if kill == nil {
		pause(lasts)
		return 0
	}
	for end := time.Now().Add(lasts); outages < 2 || time.Now().Before(end); outages++ {
		pause(rand.N(300 * time.Millisecond))
		kill()
		if rand.IntN(2) == 0 {
			pause(rand.N(300 * time.Millisecond))
		}
		restart()
	}
	return outages
}

// A killing is a call of Kills.
type killing struct {
	t      *testing.T
	role   role
	all    idset.Set
	lives  atomic.Int64
	calm   chan struct{} // closed after the last fault
	places sync.WaitGroup
}

// lead runs one process after another. The last one begins after the faults, and issues IDs without
// intervention.
func (k *killing) lead() {
	const least = 200
	for {
		select {
		case <-k.calm:
			if n := k.live(least, patience, 0); n < least {
				k.t.Errorf("the last process issued %d IDs within %v, want %d at least", n, patience, least)
			}
			return
		default:
		}
		limit, frozen := patience, time.Duration(0)
		if rand.IntN(2) == 0 {
			limit = rand.N(500 * time.Millisecond)
		}
		if rand.IntN(4) == 0 {
			frozen = rand.N(200 * time.Millisecond)
		}
		k.live(1+rand.IntN(1000), limit, frozen)
	}
}

// live starts a process, kills it after it has issued most IDs or when the limit is over, and
// returns the number of its IDs, all of which it counts. It freezes the process for a while at half
// of the IDs.
func (k *killing) live(most int, limit, frozen time.Duration) (n int) {
	k.lives.Add(1)
	cmd, err := process.Again(childEnv, k.role)
	if err != nil {
		k.t.Error(err)
		return 0
	}
	c, err := process.StartChild(cmd)
	if err != nil {
		k.t.Error(err)
		return 0
	}
	var killed atomic.Bool
	kill := func() {
		killed.Store(true)
		c.Kill()
	}
	timer := time.AfterFunc(limit, kill)
	defer func() {
		timer.Stop()
		kill()
		_, _ = c.Stdin.Close(), c.Stdout.Close() // all output has been read
	}()
	var last int64
	for word := [8]byte{}; ; n++ {
		if _, err := io.ReadFull(c.Stdout, word[:]); err != nil {
			if !killed.Load() {
				k.t.Errorf("the process ended after %d IDs: %v, %v", n, err, c.Wait())
			}
			return n
		}
		id := int64(binary.BigEndian.Uint64(word[:]))
		if id <= last {
			k.t.Errorf("a process issued ID %d after %d", id, last)
		}
		last = id
		k.all.Once(k.t, id)
		switch n {
		case most:
			kill()
		case most / 2:
			if frozen > 0 && c.Pause() == nil {
				pause(frozen)
				_ = c.Continue() // an error says that it was killed meanwhile
			}
		}
	}
}

func pause(d time.Duration) { <-time.After(d) }
