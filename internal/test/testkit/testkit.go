// Package testkit has helpers of tests: resources that end with a test, goroutines that start
// together, waits for other processes, records of events and of logs, and scripts.
package testkit

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ReadFile returns the text of a file. It ends the test if the file cannot be read.
func ReadFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	Must(t, err)
	return string(text)
}

// Close returns c, and closes it when the test ends. It ends the test if err is not nil, and fails
// it if the call of c's Close returns an error.
func Close[C io.Closer](t testing.TB, c C, err error) C {
	t.Helper()
	Must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Example runs an example, and wants an ID and no error as its output.
func Example(t *testing.T, example func()) {
	t.Helper()
	r, w, err := os.Pipe()
	Must(t, err)
	stdout := os.Stdout
	os.Stdout = w
	example()
	os.Stdout = stdout
	Must(t, w.Close())
	if text, err := io.ReadAll(r); err != nil || !printedID.Match(text) {
		t.Errorf("the example prints %q, %v; want an ID and <nil>", text, err)
	}
}

var printedID = regexp.MustCompile(`^[1-9][0-9]* <nil>\n$`)

// Bubble runs a subtest in a bubble of package synctest.
func Bubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// Together calls f(0) to f(n-1), each on a goroutine of its own, and waits for them. All calls
// start at the same moment.
func Together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// Pause waits for a time and reports true, or false when ctx ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Patience is how long anything may take that the machine alone decides about.
const Patience = 3 * time.Minute

const interval = 5 * time.Millisecond

// Until returns once happened returns true. It ends the test with the name of the event if that has
// not happened within Patience.
func Until(t testing.TB, event string, happened func() bool) {
	t.Helper()
	Succeeds(t, event, func() error {
		if happened() {
			return nil
		}
		return errors.New("not yet")
	})
}

// Succeeds repeats a call until it returns nil. It ends the test with the name of the event and the
// last error if the call has not succeeded within Patience.
func Succeeds(t testing.TB, event string, call func() error) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for err := call(); err != nil; err = call() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v: %v", event, Patience, err)
		}
	}
}

// Scaled returns n, or a tenth of it in short mode, under the race detector, which makes every
// atomic operation a call, and with a single CPU, where runtime.Gosched may take 10 ms for each
// busy goroutine.
func Scaled(n int) int {
	info, ok := debug.ReadBuildInfo()
	if testing.Short() || runtime.GOMAXPROCS(0) == 1 || ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return n / 10
	}
	return n
}
