package testkit

import (
	"errors"
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
