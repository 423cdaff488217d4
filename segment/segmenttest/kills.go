package segmenttest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/uidring/uidring/segment"
)

// The environment variables of a child process: the argument of its source, and the counter.
const (
	childEnv   = "UIDRING_SEGMENTTEST_CHILD"
	counterEnv = "UIDRING_SEGMENTTEST_COUNTER"
)

// killStep is the size of the ranges of the child processes.
const killStep = 64

// Child runs a child process of [Kills] if the test binary was started as one; otherwise it does
// nothing. Call it first in TestMain. open builds the source from the child's argument, such as a
// DSN. In a child, Child does not return: it writes IDs to its output until it is killed.
func Child(open func(arg string) (segment.Source, error)) {
	arg, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	fmt.Fprintln(os.Stderr, issue(open, arg))
	os.Exit(1)
}

func issue(open func(arg string) (segment.Source, error), arg string) error {
	source, err := open(arg)
	if err != nil {
		return err
	}
	g, err := segment.New(segment.Config{Name: os.Getenv(counterEnv), Source: source, Step: killStep, MaxStep: killStep, Timeout: patience})
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
	var all Count
	var wg sync.WaitGroup
	for range places {
		wg.Go(func() {
			for range kills {
				if err := oneLife(t, &all, arg, name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// The pipe holds 64 KiB of IDs that were issued and not read: count reads them all after the
	// kill, so that only the ID that was being written is missing.
	f.checkLost(t, name, &all, places*kills*(3*killStep+1))
}

// oneLife starts a child, kills it after it has issued some IDs, and counts all its IDs.
func oneLife(t *testing.T, all *Count, arg, name string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), childEnv+"="+arg, counterEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var last int64
	var word [8]byte
	for n, end := 0, 100+rand.IntN(1000); ; n++ {
		if _, err := io.ReadFull(out, word[:]); err != nil {
			if n < end {
				err = fmt.Errorf("the child ended after %d IDs: %w", n, err)
				return fmt.Errorf("%w; %w", err, cmd.Wait())
			}
			_ = cmd.Wait() // it was killed
			return nil
		}
		id := int64(binary.BigEndian.Uint64(word[:]))
		if id <= last {
			t.Errorf("a process issued ID %d after %d", id, last)
		}
		last = id
		all.Add(t, id)
		if n == end {
			if err := cmd.Process.Kill(); err != nil {
				return err
			}
		}
	}
}
