package incidents_test

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	runChild()
	os.Exit(m.Run())
}

// patience is how long anything may take that the machine alone decides about.
const patience = 3 * time.Minute

// until polls until happened returns true.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
