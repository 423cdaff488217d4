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

// Child makes the test binary a child of [Processes] if it was started as one, and does nothing
// else. TestMain calls it first. open builds the assigner from the child's argument, such as a DSN.
// A child does not return: it takes a worker ID when it is told to, says which, holds it until all
// have theirs, and exits.
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

// Processes starts the test binary n times, child i with the argument arg(i), has all of them take
// a worker ID at the same moment, and returns what they got. It fails the test when two got the
// same, or when one got none. The package's TestMain must call [Child].
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
		c.end() // all are told before one is waited for: under the race detector each takes a second
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

// startChild starts a process that is killed with the test at the latest.
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
	end := func() { _ = stdin.Close() }              // this is what the child waits for
	wait := sync.OnceFunc(func() { _ = cmd.Wait() }) // what went wrong is in the child's line
	t.Cleanup(func() {
		end()
		wait()
	})
	return &child{stdin, bufio.NewReader(stdout), end, wait}
}

// line returns the child's next line, or why there is none.
func (c *child) line() string {
	text, err := c.stdout.ReadString('\n')
	if err != nil {
		return fmt.Sprintf("%q, then %v", text, err)
	}
	return strings.TrimSuffix(text, "\n")
}
