package keeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The units that a lease begins ahead of the clock are no ID time that runs ahead.
func TestLeaseThatBeginsAheadDoesNotRunAhead(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log testkit.Recorder
		s := r.settings()
		s.Logger = log.TextLogger()
		time.Sleep(time.Hour)
		first := int64((time.Hour + 20*time.Minute) / time.Second)
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{First: first, Last: first + 1_000_000, Guarantee: assigner.GuaranteeFenced}, nil
		}
		runsAhead := func() bool {
			return strings.Contains(strings.Join(log.Read(), "\n"), "ID time runs ahead of the clock")
		}
		r.used.Store(first)
		r.openWith(t, s)
		if runsAhead() {
			t.Error("a lease that begins 20 minutes ahead makes a warning")
		}
		r.used.Store(first + 15*60)
		time.Sleep(time.Minute)
		if !runsAhead() {
			t.Error("no warning, though callers have used up 15 minutes in one")
		}
	})
}
