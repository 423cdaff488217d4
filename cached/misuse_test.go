//go:build race

package cached_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/cached"
)

// misuse names, in the environment of a child process, the calls that its goroutines make on one
// Lane.
const misuse = "UIDRING_TEST_MISUSE"

// misuses are calls of two goroutines on one Lane.
var misuses = map[string]func(*cached.Lane){
	"Next":           func(l *cached.Lane) { _, _ = l.Next() },
	"Next and Close": func(l *cached.Lane) { _, _ = l.Next(); l.Close() },
}

// TestRaceDetectorReportsALaneOfTwoGoroutines runs this test binary again, with goroutines that
// share a Lane.
func TestRaceDetectorReportsALaneOfTwoGoroutines(t *testing.T) {
	if calls, ok := misuses[os.Getenv(misuse)]; ok {
		share(open(t, cached.Config{}).Lane(), calls)
		return
	}
	for name := range misuses {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRaceDetectorReportsALaneOfTwoGoroutines$")
			cmd.Env = append(cmd.Environ(), misuse+"="+name, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				t.Errorf("two goroutines share a Lane, and their process ends with %v, want a failure", err)
			}
			if text := string(out); !strings.Contains(text, "WARNING: DATA RACE") || !strings.Contains(text, "cached.(*Lane)") {
				t.Errorf("no report of a race:\n%s", out)
			}
		})
	}
}

// share has two goroutines make the calls at once.
func share(l *cached.Lane, calls func(*cached.Lane)) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { calls(l) })
	}
	both.Wait()
}
