// Package keeper keeps a worker ID for a generator: it takes a lease, renews it, and takes another
// when the lease is lost. It runs beside the generator, so that a slow store never delays an ID.
package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// A Config describes the generator that a worker ID is kept for. The goroutine of the Keeper,
// Invalidate and Close call Used, Position and Ended; these must not block for long.
type Config struct {
	Assigner assigner.Assigner
	Domain   assigner.Domain // without Now
	Alloc    *bitsalloc.Allocator
	Now      func() time.Time // the user's clock
	Timeout  time.Duration    // bounds each call to the store
	Logger   *slog.Logger
	Trace    Trace

	// Used returns the highest delta used so far, after waiting for a padding pass in progress.
	Used func() int64
	// Position returns the present delta of the generator: Used, or its clock if that is ahead.
	Position func(*Lease) int64
	// Ended is called when a lease is withdrawn: at Invalidate, at Close, and at a loss that leaves
	// no grant to use up. When it returns, the generator composes and issues no more IDs under that
	// lease.
	Ended func()
}

// Trace holds the user's funcs, nil or not.
type Trace struct {
	Assigned    func(assigner.Grant)
	Lost        func(workerID int64, err error)
	RenewFailed func(err error)
	Kept        func(workerID int64)
}

// A Keeper keeps the worker IDs of a generator, one after the other, until Close.
type Keeper struct {
	cfg     Config
	current atomic.Pointer[Lease] // nil while no grant may be used
	latest  atomic.Pointer[Lease] // the last value of current that was not nil
	want    atomic.Int64          // the delta that Extend asked for
	refused atomic.Int64          // requests for this delta or higher wait for the next renewal
	later   atomic.Int64          // the highest of these requests
	reading atomic.Pointer[Clock] // the last reading of Domain.Now
	news    Bell                  // wakes waiting goroutines after a change of current
	poke    chan struct{}         // capacity 1: wakes run, which checks current and want
	cancel  context.CancelFunc
	group   *errgroup.Group

	// Used only by the goroutine; by Start before it, by Close after it.
	lease        assigner.Lease
	registration *assigner.Registration
	delay        time.Duration // backoff before the next try, after a failure
	reported     string        // the failure logged last: outage, or the cause of a wait; "" after a success
	highest      int64         // highest limit of all leases so far: no delta above it has been used

	renewals, failures atomic.Int64
	trouble            atomic.Pointer[error] // the error of the last call to the store; nil if it succeeded

	// ending is held by Invalidate, and while a new lease becomes current.
	ending      sync.Mutex
	invalidated int // calls of Invalidate
}

// Start takes the first lease within ctx and keeps it until Close.
func Start(ctx context.Context, cfg Config) (*Keeper, error) {
	k := &Keeper{cfg: cfg, poke: make(chan struct{}, 1)}
	k.cfg.Domain.Now = k.delta
	if err := k.first(ctx); err != nil {
		return nil, err
	}
	k.reported = ""
	background, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.group, background = errgroup.WithContext(background)
	k.group.Go(func() error {
		k.run(background)
		return nil
	})
	return k, nil
}

// Current returns the grant that may be used, or nil.
func (k *Keeper) Current() *Lease { return k.current.Load() }

// Latest returns the last grant that Current has returned.
func (k *Keeper) Latest() *Lease { return k.latest.Load() }

// Counts returns how many renewals succeeded, and how many calls to the store failed.
func (k *Keeper) Counts() (renewals, failures int64) {
	return k.renewals.Load(), k.failures.Load()
}

// Shortage returns an error that wraps sentinel and says why no grant covers the next unit.
func (k *Keeper) Shortage(sentinel error) error {
	var state error
	switch h := k.current.Load(); {
	case h == nil:
		state = fmt.Errorf("%w: worker ID %d is no longer held", sentinel, k.latest.Load().WorkerID)
	case h.lost:
		state = fmt.Errorf("%w: worker ID %d is no longer held, and its grant ends at delta %d", sentinel, h.WorkerID, h.Limit)
	default:
		state = fmt.Errorf("%w: worker ID %d may be used up to delta %d", sentinel, h.WorkerID, h.Limit)
	}
	if trouble := k.trouble.Load(); trouble != nil {
		return fmt.Errorf("%w; last answer of the store: %w", state, *trouble)
	}
	return state
}

// News returns a channel that is closed when the Keeper next gets a worker ID or a higher limit, or
// when a renewal has refused a request of Extend.
func (k *Keeper) News() <-chan struct{} { return k.news.Wait() }

// Extend requests a grant that reaches up to delta. It does not wait; News reports the result.
func (k *Keeper) Extend(delta int64) {
	switch {
	case delta >= k.refused.Load():
		raise(&k.later, delta)
	case raise(&k.want, delta):
		k.wake()
	}
}

// raise sets v to delta if that is higher, and reports whether it did.
func raise(v *atomic.Int64, delta int64) bool {
	for old := v.Load(); delta > old; old = v.Load() {
		if v.CompareAndSwap(old, delta) {
			return true
		}
	}
	return false
}

// Invalidate withdraws the current lease and takes another in the background. The old one is not
// released: a copy of this process may be using it.
func (k *Keeper) Invalidate() {
	k.ending.Lock()
	k.invalidated++
	k.current.Store(nil)
	k.cfg.Ended()
	k.ending.Unlock()
	k.cfg.Logger.Info("worker ID invalidated", "worker", k.latest.Load().WorkerID)
	k.wake()
}

// Close stops the background work, waits for it, ends the lease, and releases the worker ID within
// the timeout. Call it once.
func (k *Keeper) Close() error {
	k.cancel()
	_ = k.group.Wait() // run has no error to return
	h := k.current.Swap(nil)
	k.cfg.Ended()
	used := k.cfg.Used()
	k.registration.End(used)
	if h == nil || h.lost {
		k.abandon()
		return nil // no lease to release
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.cfg.Timeout)
	defer cancel()
	if err := guarded("Release", func() error { return k.lease.Release(ctx, min(used, k.highest)) }); err != nil {
		k.cfg.Logger.Warn("worker ID not released", "worker", h.WorkerID, "error", err)
		return err
	}
	k.cfg.Logger.Info("worker ID released", "worker", h.WorkerID)
	return nil
}

func (k *Keeper) wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}
