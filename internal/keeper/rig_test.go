package keeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
)

// lastWorker gives the grants of each test worker IDs of their own.
var lastWorker atomic.Int64

// A rig is a keeper with a store that answers as a test decides, and a journal of all that happens.
// The generator that it is held for is used and ended.
type rig struct {
	*keeper.Keeper
	assign  func(ctx context.Context, nth int) (assigner.Grant, error)
	renew   func(ctx context.Context, g *assigner.Grant, used, want int64) error
	release func(ctx context.Context, used int64) error
	ended   func()

	used     atomic.Int64
	assigns  atomic.Int64
	timeout  time.Duration
	first    int64 // worker ID of the first grant
	prepared int64

	mu    sync.Mutex
	lines []string
	start time.Time
}

func newRig() *rig {
	return &rig{timeout: 10 * time.Second, first: lastWorker.Add(1000), start: time.Now()}
}

// note adds a line that begins with the time since the start.
func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%v ", time.Since(r.start))+fmt.Sprintf(format, args...))
}

// read returns the lines since the last read.
func (r *rig) read() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := slices.Clone(r.lines)
	r.lines = nil
	return lines
}

func (r *rig) config() keeper.Config {
	layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 30, SequenceBits: 5, Unit: time.Second}
	alloc, err := bitsalloc.New(layout, bitsalloc.DefaultEpoch())
	if err != nil {
		panic(err)
	}
	return keeper.Config{
		Assigner: r,
		Domain: assigner.Domain{
			Layout:   layout,
			Epoch:    alloc.Epoch(),
			Prepared: r.prepared,
		},
		Alloc:   alloc,
		Now:     func() time.Time { return alloc.Epoch().Add(time.Since(r.start)) },
		Timeout: r.timeout,
		Logger:  slog.New(handler{r}),
		Trace: keeper.Trace{
			Assigned:    func(g assigner.Grant) { r.note("assigned %d", g.WorkerID-r.first) },
			Lost:        func(workerID int64, _ error) { r.note("lost %d", workerID-r.first) },
			RenewFailed: func(error) { r.note("failed") },
			Kept:        func(workerID int64) { r.note("kept %d", workerID-r.first) },
		},
		Used:     r.used.Load,
		Position: func(*keeper.Lease) int64 { return r.used.Load() },
		Ended: func() {
			if r.ended != nil {
				r.ended()
			}
			r.note("ended")
		},
	}
}

// open starts the keeper. It is closed when the test ends.
func (r *rig) open(t *testing.T) {
	t.Helper()
	var err error
	if r.Keeper, err = keeper.Start(t.Context(), r.config()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
}

func (r *rig) Assign(ctx context.Context, _ assigner.Domain) (assigner.Lease, error) {
	n := r.assigns.Add(1) - 1
	g := assigner.Grant{WorkerID: r.first + n, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}
	if r.assign != nil {
		var err error
		if g, err = r.assign(ctx, int(n)); err != nil {
			return nil, err
		}
	}
	return &lease{r, g}, nil
}

type lease struct {
	rig   *rig
	grant assigner.Grant
}

func (l *lease) Grant() assigner.Grant { return l.grant }

func (l *lease) Renew(ctx context.Context, used, want int64) error {
	l.rig.note("renew %d, %d to %d", l.grant.WorkerID-l.rig.first, used, want)
	if l.rig.renew == nil {
		return nil
	}
	return l.rig.renew(ctx, &l.grant, used, want)
}

func (l *lease) Release(ctx context.Context, used int64) error {
	l.rig.note("release %d, %d", l.grant.WorkerID-l.rig.first, used)
	if l.rig.release == nil {
		return nil
	}
	return l.rig.release(ctx, used)
}

// stamps keeps the times of calls.
type stamps struct {
	mu    sync.Mutex
	times []time.Time
}

func (s *stamps) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
}

// read returns the times since the last read.
func (s *stamps) read() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := s.times
	s.times = nil
	return times
}

// handler notes log records.
type handler struct{ *rig }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h handler) WithGroup(string) slog.Handler            { return h }
func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.note("%v %s", r.Level, r.Message)
	return nil
}

// bubble runs a test with a rig of its own in fake time.
func bubble(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig()) })
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%q\nwant:\n%q", got, want)
	}
}

// renewSlowly makes each renewal take a second.
func renewSlowly(r *rig) {
	renew := r.renew
	r.renew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		time.Sleep(time.Second)
		return renew(ctx, g, used, want)
	}
}
