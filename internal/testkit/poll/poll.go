// Package poll lets tests wait for work of another process, which does not announce its end.
package poll

import (
	"testing"
	"time"
)

// Patience is how long anything may take that the machine alone decides about.
const Patience = 3 * time.Minute

const interval = 5 * time.Millisecond

// Until returns once happened returns true. It ends the test with the name of the event if that has
// not happened within Patience.
func Until(t testing.TB, event string, happened func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v", event, Patience)
		}
	}
}
