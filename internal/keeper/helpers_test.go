package keeper_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// lastWorker gives the grants of each test worker IDs of their own, which have nine digits and
// begin with 1.
var lastWorker atomic.Int64

// A rig is a keeper with a store that answers as a test decides, and a record of all events. The
// generator that it is held for is used and ended.
type rig struct {
	*keeper.Keeper
	*testkit.Recorder
	store fakeassigner.Assigner

	ended  func()
	deltas func() // called by the hook Deltas

	used    atomic.Int64
	ahead   atomic.Int64 // the position, if it is ahead of used
	timeout time.Duration
	first   int64 // worker ID of the first grant
	start   time.Time
}

func newRig() *rig {
	r := &rig{Recorder: new(testkit.Recorder), timeout: 10 * time.Second, first: 100_000_000 + lastWorker.Add(1000), start: time.Now(), ended: func() {}, deltas: func() {}}
	r.store.OnAssign = r.fresh
	return r
}

// fresh gives the worker IDs from first on, without a fence.
func (r *rig) fresh(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
	g, err := fakeassigner.Fresh(ctx, nth, d)
	g.WorkerID += r.first - 1
	return g, err
}

func (r *rig) settings() keeper.Settings {
	epoch := bitsalloc.DefaultEpoch()
	note := func(format string, args ...any) {
		r.Window() // a func of Trace may ask the generator
		r.Note(format, args...)
	}
	return keeper.Settings{
		Layout:        bitsalloc.Layout{DeltaBits: 28, WorkerBits: 30, SequenceBits: 5, Unit: time.Second},
		Epoch:         epoch,
		Assigner:      &r.store,
		AssignTimeout: r.timeout,
		Logger:        r.Logger(),
		Now:           func() time.Time { return epoch.Add(time.Since(r.start)) },
		Trace: keeper.Trace{
			LeaseAssigned: func(i assigner.LeaseInfo) { note("assigned %d", i.Grant.WorkerID-r.first) },
			LeaseLost:     func(i assigner.LeaseInfo) { note("lost %d", i.Grant.WorkerID-r.first) },
			RenewFailed:   func(assigner.LeaseInfo) { note("failed") },
			LeaseKept:     func(i assigner.LeaseInfo) { note("kept %d", i.Grant.WorkerID-r.first) },
		},
		Package:    "keeper",
		AllowReuse: true,
	}
}

func (r *rig) hooks() keeper.Hooks {
	return keeper.Hooks{
		Deltas: func() (int64, int64) {
			r.deltas()
			return r.used.Load(), max(r.used.Load(), r.ahead.Load())
		},
		Oldest: func() int64 { return 0 },
		Ended: func() int64 {
			if r.ended(); r.Current() != nil { // until Ended has returned, the generator composes IDs under Current
				r.Note("ended too early")
				return r.used.Load()
			}
			r.Note("ended")
			return r.used.Load()
		},
	}
}

// startIn starts the keeper within ctx.
func (r *rig) startIn(ctx context.Context, s keeper.Settings) error {
	k, mistakes := keeper.New(s)
	if err := mistakes.Err(); err != nil {
		return err
	}
	r.Keeper = k
	return k.Start(ctx, r.hooks())
}

// open starts the keeper. It is closed when the test ends.
func (r *rig) open(t *testing.T) {
	t.Helper()
	r.openWith(t, r.settings())
}

// openWith is open with settings that the test has changed. The context of the start ends with it.
func (r *rig) openWith(t *testing.T, s keeper.Settings) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	testkit.Must(t, r.startIn(ctx, s))
	t.Cleanup(func() { _ = r.Close() })
}

// bubble runs a test with a rig of its own in fake time.
func bubble(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig()) })
}

// fence makes the store grant the deltas 1 to 100, and raise the limit on request.
func fence(r *rig) {
	r.store.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		g, err := r.fresh(ctx, nth, d)
		g.Last, g.Guarantee = 100, assigner.GuaranteeFenced
		return g, err
	}
	r.store.OnRenew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
		g.Last = max(g.Last, want)
		return nil
	}
}
