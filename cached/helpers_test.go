package cached_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// lastWorker gives every generator of the tests its own worker ID. A generator that follows another
// with the same worker ID starts above it, and exact deltas could not be predicted.
var lastWorker atomic.Int64

func worker() int64 { return lastWorker.Add(1) }

// fresh gives a new worker ID, without a fence, at every call.
func fresh(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
	g, err := fakeassigner.Fresh(ctx, nth, d)
	g.WorkerID = worker()
	return g, err
}

// open makes a generator that is closed when the test ends. Without an Assigner it gets a worker of
// its own.
func open(t testing.TB, cfg cached.Config) *cached.Generator {
	t.Helper()
	if cfg.Assigner == nil {
		cfg.Assigner, cfg.AllowReuse = assigner.Static(worker()), true
	}
	g, err := cached.New(cfg)
	return testkit.Close(t, g, err)
}

// inBubble is open with an epoch that suits a bubble.
func inBubble(t testing.TB, cfg cached.Config) *cached.Generator {
	t.Helper()
	cfg.Epoch = gentest.Start.AddDate(0, 0, -1)
	g := open(t, cfg)
	synctest.Wait() // for the padding goroutine to look at the ring that New has filled
	return g
}
