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

// A Config says for which generator a worker ID is kept. Used, Position and Ended are called by the
// goroutine of the Keeper, by Invalidate and by Close; they must not block for long.
type Config struct {
	Assigner assigner.Assigner
	Domain   assigner.Domain // without Now
	Alloc    *bitsalloc.Allocator
	Now      func() time.Time // the user's clock
	Timeout  time.Duration    // bounds each call to the store
	Logger   *slog.Logger
	Trace    Trace

	// Used returns the highest delta put to use so far, after a padding pass that is under way.
	Used func() int64
	// Position returns the delta that the generator has come to: Used, or its clock where that is
	// ahead.
	Position func(*Lease) int64
	// Ended is called when a lease is withdrawn: at Invalidate, at Close, and at a loss that leaves
	// nothing to use. When it returns, no ID is composed or issued under that lease any more.
	Ended func()
}

// Trace holds the user's funcs, nil or not.
type Trace struct {
	Assigned    func(assigner.Grant)
	Lost        func(workerID int64, err error)
	RenewFailed func(err error)
	Kept        func(workerID int64)
}

// A Keeper keeps worker IDs over the life of a generator, one after the other.
type Keeper struct {
	cfg     Config
	current atomic.Pointer[Lease] // nil while there is nothing to use
	latest  atomic.Pointer[Lease] // the last that was not nil
	want    atomic.Int64          // the delta that Extend asked for
	refused atomic.Int64          // wishes from here up wait for the next renewal
	later   atomic.Int64          // the highest of those
	reading atomic.Pointer[Clock] // the last by Domain.Now
	news    Bell                  // rings after a change of current
	poke    chan struct{}         // capacity 1: look at current and want
	cancel  context.CancelFunc
	group   *errgroup.Group

	// Owned by the goroutine; by Start before it, by Close after it.
	lease        assigner.Lease
	registration *assigner.Registration
	delay        time.Duration // before the next try, after a failure
	reported     string        // the trouble that was logged last: outage, or the cause of a wait; "" when all is well
	highest      int64         // limit of all leases so far: no delta above it was put to use

	renewals, failures atomic.Int64
	trouble            atomic.Pointer[error] // why the last call to the store failed; nil when it did not

	// ending is held by Invalidate, and while a new lease becomes the current one.
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

// Shortage words, under the sentinel of a generator, why nothing may be composed for the next unit.
func (k *Keeper) Shortage(sentinel error) error {
	var state error
	switch h := k.current.Load(); {
	case h == nil:
		state = fmt.Errorf("%w: worker %d is no longer held", sentinel, k.latest.Load().WorkerID)
	case h.lost:
		state = fmt.Errorf("%w: worker %d is no longer held, and its grant ends at delta %d", sentinel, h.WorkerID, h.Limit)
	default:
		state = fmt.Errorf("%w: worker %d may be used up to delta %d", sentinel, h.WorkerID, h.Limit)
	}
	if trouble := k.trouble.Load(); trouble != nil {
		return fmt.Errorf("%w; last answer of the store: %w", state, *trouble)
	}
	return state
}

// News returns a channel that is closed by the next change for the better: a worker ID, a higher
// limit.
func (k *Keeper) News() <-chan struct{} { return k.news.Wait() }

// Extend asks for a grant that reaches up to delta. It does not wait; News tells when it is there.
func (k *Keeper) Extend(delta int64) {
	switch {
	case delta >= k.refused.Load():
		raise(&k.later, delta)
	case raise(&k.want, delta):
		k.wake()
	}
}

// raise reports whether it has raised v.
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
// the timeout. It must be called once.
func (k *Keeper) Close() error {
	k.cancel()
	_ = k.group.Wait() // run has no error to return
	h := k.current.Swap(nil)
	k.cfg.Ended()
	used := k.cfg.Used()
	k.registration.End(used)
	if h == nil || h.lost {
		k.abandon()
		return nil // there is nothing to give back
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
