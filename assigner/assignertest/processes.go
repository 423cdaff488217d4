package assignertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/process"
)

// childEnv holds the argument of a child process.
const childEnv = "UIDRING_ASSIGNERTEST_CHILD"

// Child runs the child process of [Processes] if the test binary was started as one; otherwise it
// does nothing. Call it first in TestMain. open builds the assigner from the child's argument, such
// as a DSN. In a child, Child does not return: it takes a worker ID on command, prints it, holds it
// until all children have one, and exits.
func Child(open func(arg string) (assigner.Assigner, error)) {
	var arg string
	ok, err := process.Role(childEnv, &arg)
	if !ok {
		return
	}
	var a assigner.Assigner
	if err == nil {
		a, err = open(arg)
	}
	input := bufio.NewReader(os.Stdin)
	if err == nil {
		fmt.Println("ready")
		_, err = input.ReadString('\n')
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var l assigner.Lease
		if l, err = settle(ctx, a, Domain()); err == nil {
			fmt.Println("worker", l.Grant().WorkerID)
			_, _ = io.Copy(io.Discard, input)
			os.Exit(0)
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// Processes starts the test binary n times, child i with the argument arg(i), lets all of them take
// a worker ID at the same moment, and returns the worker IDs. It fails the test when two are the
// same, or when a child gets an error. The package's TestMain must call [Child].
func Processes(t *testing.T, n int, arg func(i int) string) []int64 {
	t.Helper()
	children := make([]*process.Child, n)
	for i := range children {
		children[i] = process.Play(t, childEnv, arg(i))
	}
	for i, c := range children {
		if line, err := c.Line(); line != "ready" {
			t.Fatalf("process %d: %q, %v", i, line, err)
		}
	}
	for _, c := range children {
		if _, err := io.WriteString(c.Stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	workers := make([]int64, 0, n)
	seen := make(map[int64]int)
	for i, c := range children {
		line, errLine := c.Line()
		text, ok := strings.CutPrefix(line, "worker ")
		w, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			t.Errorf("process %d: %q, %v", i, line, errLine)
			continue
		}
		if j, twice := seen[w]; twice {
			t.Errorf("processes %d and %d both have worker %d", j, i, w)
		}
		seen[w] = i
		workers = append(workers, w)
	}
	for _, c := range children {
		_ = c.Stdin.Close() // end all before waiting for one: under the race detector each takes a second
	}
	for _, c := range children {
		_ = c.Wait() // the child reports errors in its output
	}
	return workers
}
