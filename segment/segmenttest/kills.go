package segmenttest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/process"
	"github.com/uidring/uidring/internal/testkit/together"
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
	g, err := segment.New(segment.Config{Name: r.Counter, Source: source, Step: killStep, MaxStep: killStep, Timeout: patience})
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

// Kills runs processes that share a counter and issue IDs, kills each after a random number of IDs,
// and starts another in its place. It counts every ID and checks the number of lost IDs: two ranges
// and one range being fetched for each kill. arg is the argument of the children's sources. The
// package's TestMain must call [Child].
func Kills(t *testing.T, f Fixture, arg string) {
	const places, kills = 3, 4
	name := f.counter(t)
	var all idset.Set
	together.Run(places, func(int) {
		for range kills {
			if err := oneLife(t, &all, role{name, arg}); err != nil {
				t.Error(err)
			}
		}
	})
	// The pipe holds 64 KiB of IDs that were issued and not read: count reads them all after the
	// kill, so that only the ID that was being written is missing.
	f.checkLost(t, name, &all, places*kills*(3*killStep+1))
}

// oneLife starts a child, kills it after it has issued some IDs, and counts all its IDs.
func oneLife(t *testing.T, all *idset.Set, r role) error {
	cmd, err := process.Again(childEnv, r)
	if err != nil {
		return err
	}
	c, err := process.StartChild(cmd)
	if err != nil {
		return err
	}
	defer func() {
		c.Kill()
		_, _ = c.Stdin.Close(), c.Stdout.Close() // all output has been read
	}()
	var last int64
	var word [8]byte
	for n, end := 0, 100+rand.IntN(1000); ; n++ {
		if _, err := io.ReadFull(c.Stdout, word[:]); err != nil {
			if n < end {
				return errors.Join(fmt.Errorf("the child ended after %d IDs: %w", n, err), c.Wait())
			}
			return nil
		}
		id := int64(binary.BigEndian.Uint64(word[:]))
		if id <= last {
			t.Errorf("a process issued ID %d after %d", id, last)
		}
		last = id
		all.Once(t, id)
		if n == end {
			c.Kill()
		}
	}
}
