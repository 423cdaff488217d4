// Package backdate issues unique IDs of past instants: for rows that get IDs later, an import from
// another system, or events that are reported days after they happened.
//
// A worker ID that was never given out has its whole past unused. New takes such a worker ID from
// an assigner of package assigner, in any namespace that also serves package cached or defaultgen,
// and issues IDs of it from the second unit of the epoch to now. The fence of the lease proves that
// no other generator has issued these IDs or ever will.
//
// Experimental: this package may still change. See docs/STABILITY.md.
package backdate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/storecall"
)

var (
	// ErrInvalidConfig is returned by [New] for a mistake in the Config. The text names every field
	// that is wrong, the value given and the values allowed.
	ErrInvalidConfig = uidring.ErrInvalidConfig
	// ErrNoPast is returned by [New] when the past of the worker ID may be in use: the worker ID
	// was given out before, the store may forget its holders, or, for good, the namespace was
	// recovered, has a horizon, or its store was replaced by a failover or a copy.
	ErrNoPast = errors.New("backdate: worker ID without an unused past")
	// ErrOutOfSpan is returned by [Generator.At] for an instant in the first unit of the epoch or
	// before it, or later than the call of New.
	ErrOutOfSpan = errors.New("backdate: instant out of span")
	// ErrUnitFull is returned by [Generator.At] when the 2^SequenceBits IDs of the unit are used
	// up. Another Generator has another worker ID.
	ErrUnitFull = errors.New("backdate: no ID left in the unit")
)

// A Config says how to make a Generator. All generators whose IDs meet in one table must agree on
// Layout and Epoch.
type Config struct {
	Layout       bitsalloc.Layout // zero: [bitsalloc.Default]
	Epoch        time.Time        // zero: [bitsalloc.DefaultEpoch]; instants before its second unit have no ID
	DatacenterID int64            // 0 to 2^DatacenterBits - 1
	// Assigner provides a worker ID that was never given out: [assigner.Auto], or Disposable of
	// package sqlassigner. It is required. [assigner.Leased] prefers worker IDs that were used.
	Assigner assigner.Assigner
}

// A Generator issues IDs of the past. All methods may be called by any number of goroutines at
// once. Its memory grows with the units of time that have IDs: an entry of a map for each.
//
// A Generator must not be copied with its process: two processes that run on from one snapshot of a
// virtual machine issue the same IDs.
type Generator struct {
	alloc       *bitsalloc.Allocator
	datacenter  int64
	workerID    int64
	first, last int64 // the deltas of the span

	mu   sync.Mutex
	used map[int64]int64 // IDs issued by delta
}

// Validate checks a Config as [New] does, without taking a worker ID. It reports all mistakes
// together, each as a [uidring.FieldError]; a method Unwrap() []error returns them.
func (cfg Config) Validate() error {
	_, err := cfg.keeper()
	return err
}

func (cfg Config) keeper() (*keeper.Keeper, error) {
	k, c := keeper.New(keeper.Settings{Layout: cfg.Layout, Epoch: cfg.Epoch, DatacenterID: cfg.DatacenterID, Assigner: cfg.Assigner,
		Package: "backdate"})
	return k, c.Err()
}

// New takes a worker ID within ctx, which it uses for nothing else, and gives it back at once: the
// next holder of the worker ID starts later than the span. So New uses up the past of one worker ID
// each time, also after a crash, and never continues with an earlier one. While the store does not
// answer, New logs that to slog.Default(), and tries again until ctx ends. It reports all mistakes
// in cfg together, as [ErrInvalidConfig], [bitsalloc.ErrInvalidLayout] or
// [uidring.ErrTimeExhausted]. Other errors come from the assigner.
func New(ctx context.Context, cfg Config) (*Generator, error) {
	k, err := cfg.keeper()
	if err != nil {
		return nil, err
	}
	now := func() int64 { return k.Alloc.Delta(time.Now()) }
	domain := assigner.Domain{Layout: k.Alloc.Layout(), Epoch: k.Alloc.Epoch(), DatacenterID: cfg.DatacenterID, Now: now, Registered: true,
		ReuseError: fmt.Errorf("%w: the worker ID comes back after a restart; use %s", ErrNoPast, withPast)}
	lease, err := assign(ctx, k, domain)
	if err != nil {
		return nil, fmt.Errorf("backdate: %w", err)
	}
	grant := lease.Grant()
	g := &Generator{alloc: k.Alloc, datacenter: cfg.DatacenterID, workerID: grant.WorkerID, first: max(grant.First, 1),
		last: min(now(), grant.Last), used: make(map[int64]int64)}
	// After an error the store frees the worker ID when the lease expires.
	_ = lease.End(ctx, assigner.Ending{Released: true, Used: g.last})
	if err := errors.Join(noPast(grant), domain.CheckWorkerID(grant.WorkerID, "the assigner")); err != nil {
		return nil, err
	}
	return g, nil
}

// assign calls Assign until the store answers, or until ctx ends.
func assign(ctx context.Context, k *keeper.Keeper, domain assigner.Domain) (assigner.Lease, error) {
	for waits := false; ; waits = true {
		lease, err := k.Assigner.Assign(ctx, domain)
		after, passes := uidring.RetryAfter(err)
		switch {
		case err == nil && lease == nil:
			return nil, fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
		case errors.Is(err, assigner.ErrQuarantined), errors.Is(err, assigner.ErrWorkersExhausted), errors.Is(err, assigner.ErrWorkerAheadOfClock):
			return nil, fmt.Errorf("%w: %v; use %s", ErrNoPast, err, withPast) // not as an error that passes
		case !passes && !storecall.Passes(err), ctx.Err() != nil:
			return lease, err
		case !waits:
			k.Logger.Warn("waiting for a worker ID", "error", err)
		}
		select {
		case <-time.After(max(after, time.Second)):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", generator.Ended(ctx), err)
		}
	}
}

// withPast names assigners whose worker IDs have an unused past.
const withPast = "assigner.Auto on a durable store, or sqlassigner.Disposable; if no new worker ID is left, or the namespace was recovered, " +
	"has a horizon, or its store was replaced (a failover, a copy), use another namespace with another DatacenterID"

// noPast returns an error unless all deltas of the past were granted, and to this holder alone.
func noPast(g assigner.Grant) error {
	switch {
	case g.Guarantee != assigner.GuaranteeFenced && g.Guarantee != assigner.GuaranteeFresh:
		return fmt.Errorf("%w: worker %d is %v, allowed: %v, %v; use %s",
			ErrNoPast, g.WorkerID, g.Guarantee, assigner.GuaranteeFenced, assigner.GuaranteeFresh, withPast)
	case g.First > 1:
		return fmt.Errorf("%w: the grant of worker %d begins at delta %d, allowed: 1; use %s", ErrNoPast, g.WorkerID, g.First, withPast)
	}
	return nil
}

// WorkerID returns the worker ID of all IDs of the Generator.
func (g *Generator) WorkerID() int64 { return g.workerID }

// Span returns the first and the last unit of time of which At issues IDs, as their beginnings.
func (g *Generator) Span() (first, last time.Time) {
	return g.alloc.Time(g.first), g.alloc.Time(g.last)
}

// At returns an ID of the unit of time that contains t. Calls may come in any order of instants.
// IDs of one unit rise in the order of calls until half of them are used. It returns [ErrOutOfSpan]
// or [ErrUnitFull].
func (g *Generator) At(t time.Time) (int64, error) {
	delta := g.alloc.Delta(t)
	if delta < g.first || delta > g.last {
		return 0, fmt.Errorf("%w: %v, allowed: %v to %v, the start of the last unit", ErrOutOfSpan, t.UTC(), g.alloc.Time(g.first), g.alloc.Time(g.last))
	}
	g.mu.Lock()
	n := g.used[delta]
	if n <= g.alloc.MaxSequence() {
		g.used[delta] = n + 1
	}
	g.mu.Unlock()
	if n > g.alloc.MaxSequence() {
		return 0, fmt.Errorf("%w %v: all %d have been issued; call New for another worker ID", ErrUnitFull, g.alloc.Time(delta), n)
	}
	start := generator.Scatter(delta, g.alloc.Layout().SequenceBits)
	return g.alloc.Allocate(delta, g.datacenter, g.workerID, (start+n)&g.alloc.MaxSequence())
}
