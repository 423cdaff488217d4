package gentest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// defaults makes a generator of a Config with an Assigner alone.
func (s *suite) defaults(t *testing.T) {
	var timeout time.Duration
	store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		deadline, _ := ctx.Deadline()
		timeout = time.Until(deadline)
		if d.Layout != bitsalloc.Default() || !d.Epoch.Equal(bitsalloc.DefaultEpoch()) || d.DatacenterID != 0 || !d.Registered {
			t.Errorf("Domain = %+v", d)
		}
		return fakeassigner.Fenced(60)(ctx, nth, d) // the process remembers a worker ID without a fence
	}}
	c := Config{Settings: keeper.Settings{Assigner: store}, Policy: s.policy}
	if err := s.Validate(c); err == nil || !strings.Contains(err.Error(), "Epoch 2026-01-01 00:00:00 +0000 UTC, allowed: not in the future") {
		t.Errorf("Validate = %v in %v", err, time.Now())
	}
	time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour)))
	if err := s.Validate(c); err != nil {
		t.Error(err)
	}
	var log testkit.Recorder
	before := slog.Default()
	slog.SetDefault(log.TextLogger())
	g := s.openWith(t, c)
	slog.SetDefault(before)
	want := `level=WARN msg="the Layout was left out, and cannot change later" layout=28/5/17/13@1s ids_per_second=8192 ends=2034-07-04 worker_ids=131072 remedy=`
	if lines := log.Read(); len(lines) < 2 || !strings.HasPrefix(lines[len(lines)-1], want) {
		t.Errorf("logged by default: %q, want the worker ID, and %s", lines, want)
	}
	if timeout != 25*time.Second {
		t.Errorf("AssignTimeout: %v, want 25s for a claim", timeout)
	}
	expires := time.Date(2034, time.July, 4, 21, 24, 16, 0, time.UTC)
	if f, at := Wait(t, g), stats(g).FieldByName("Expires").Interface(); time.Until(f.Time).Abs() > s.Off || at != expires {
		t.Errorf("the first ID is of %v at %v, and the layout ends at %v", f.Time, time.Now(), at)
	}
}
