package assignertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// childEnv holds the argument of a child process.
const childEnv = "UIDRING_ASSIGNERTEST_CHILD"

// Child runs the child process of [Processes] if the test binary was started as one; otherwise it
// does nothing. Call it first in TestMain. open builds the assigner from the child's argument, such
// as a DSN. In a child, Child does not return: it takes a worker ID on command, prints it, holds it
// until all children have one, and exits.
func Child(open func(arg string) (assigner.Assigner, error)) {
	arg, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	input := bufio.NewReader(os.Stdin)
	a, err := open(arg)
	if err == nil {
		fmt.Println("ready")
		_, err = input.ReadString('\n')
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var l assigner.Lease
		if l, err = settle(ctx, a, Domain(), nil); err == nil {
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
	children := make([]*child, n)
	for i := range children {
		children[i] = startChild(t, arg(i))
	}
	for i, c := range children {
		if line := c.line(); line != "ready" {
			t.Fatalf("process %d: %s", i, line)
		}
	}
	for _, c := range children {
		if _, err := io.WriteString(c.stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	workers := make([]int64, 0, n)
	seen := make(map[int64]int)
	for i, c := range children {
		line := c.line()
		text, ok := strings.CutPrefix(line, "worker ")
		w, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			t.Errorf("process %d: %s", i, line)
			continue
		}
		if j, twice := seen[w]; twice {
			t.Errorf("processes %d and %d both have worker %d", j, i, w)
		}
		seen[w] = i
		workers = append(workers, w)
	}
	for _, c := range children {
		c.end() // end all before waiting for one: under the race detector each takes a second
	}
	for _, c := range children {
		c.wait()
	}
	return workers
}

type child struct {
	stdin  io.WriteCloser
	stdout *bufio.Reader
	end    func() // lets the child exit
	wait   func() // waits until it has
}

// startChild starts a process, and kills it when the test ends.
func startChild(t *testing.T, arg string) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), childEnv+"="+arg)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = stdin.Close() }              // the child waits for this
	wait := sync.OnceFunc(func() { _ = cmd.Wait() }) // the child reports errors in its output
	t.Cleanup(func() {
		end()
		wait()
	})
	return &child{stdin, bufio.NewReader(stdout), end, wait}
}

// line returns the child's next line, or the error of reading it.
func (c *child) line() string {
	text, err := c.stdout.ReadString('\n')
	if err != nil {
		return fmt.Sprintf("%q, then %v", text, err)
	}
	return strings.TrimSuffix(text, "\n")
}
