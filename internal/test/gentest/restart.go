package gentest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/process"
)

// epochEnv makes the test binary a process that issues IDs, with this epoch in milliseconds.
const epochEnv = "GENTEST_EPOCH"

// Main is the TestMain of a package. In a process that [Restarts] has started it prints IDs of the
// generator that open returns; otherwise it runs the tests.
func Main(m *testing.M, open func(epoch time.Time) (Generator, error)) {
	var epochMs int64
	child, err := process.Role(epochEnv, &epochMs)
	if err == nil && !child {
		os.Exit(m.Run())
	}
	if err == nil {
		err = printIDs(time.UnixMilli(epochMs), open)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// printIDs prints IDs until the process is killed.
func printIDs(epoch time.Time, open func(epoch time.Time) (Generator, error)) error {
	g, err := open(epoch)
	if err != nil {
		return err
	}
	for {
		id, err := g.NextContext(context.Background())
		if err != nil {
			return err
		}
		if _, err := fmt.Println(id); err != nil {
			return err
		}
	}
}

// Restarts starts this program n times, one after the other. It kills each process as soon as that
// has printed the given number of IDs. The IDs of all of them must increase.
func Restarts(t *testing.T, n, ids int) {
	if testing.Short() {
		t.Skip("takes some seconds of real time: -short")
	}
	epoch := time.Now().Add(-time.Hour).UnixMilli()
	var all []int64
	for range n {
		child := process.Play(t, epochEnv, epoch)
		for want := len(all) + ids; ; {
			line, err := child.Line()
			if err != nil {
				break // killed, and the pipe drained
			}
			id, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, id); len(all) == want {
				child.Kill()
			}
		}
	}
	if len(all) < n*ids {
		t.Fatalf("%d processes printed %d IDs, want at least %d each", n, len(all), ids)
	}
	CheckIncreasing(t, all)
}
