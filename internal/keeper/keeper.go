// Package keeper keeps a worker ID for a generator: it takes a lease, renews it, and takes another
// when the lease is lost. It runs beside the generator, so that a slow store never delays an ID.
//
// A lease is the right to a worker ID, which the store gives. A Grant is the range of deltas that
// the generator may use under a lease. Keeper.Current is in one of three states:
//
//	  Start
//	    |
//	    |                  +------+  Renew: the store moves the limit,
//	    v                  |      |  or fails for a while
//	+--------+  Assign  +--------+ |
//	|  none  |--------->|  held  |<+
//	|  (nil) |<---------|        |
//	+--------+ ended (1)+--------+
//	    ^                ^     |  Renew: ErrWorkerRowLost, the store
//	    |         Assign |     |  still has the fence
//	    |                |     v
//	    |               +--------+
//	    +---------------|  lost  |  the generator uses up the grant,
//	      ended (2)     +--------+  which cannot be extended
//
//	(1) Invalidate, or a loss without a fence, or after which the store may grant the same deltas
//	    again, or with a limit below the deltas in use
//	(2) Invalidate
//
// Both call Hooks.Ended, after which the generator has no ID of the lease left. In none and lost
// the Keeper calls Assign with growing pauses until a store gives a worker ID. Close leads from any
// state to none, and releases the worker ID if it is held.
//
// Example: a grant reaches up to delta 100. At half of it the generator calls Extend(101), and
// Renew asks the store for 101. The store answers with the limit 160, and Current is a new Grant of
// the same Generation. If the store refuses instead, the request is dropped: it may come from a
// clock that was a year ahead for a moment. A generator that still needs delta 101 calls Extend
// again, and the Keeper asks after a pause, which doubles from refusal to refusal up to 10 s.
package keeper

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
)

// Hooks are the generator that a worker ID is kept for. The goroutine of the Keeper, Invalidate and
// Close call them; they must not block for long.
type Hooks struct {
	// Deltas returns, after waiting for a padding pass in progress, the highest delta of which IDs
	// exist, in a ring or issued, and the highest delta of which IDs are issued, or the generator's
	// clock if that is ahead.
	Deltas func() (used, position int64)
	// Oldest returns the lowest delta of which the generator may still issue an ID. It may first
	// drop older IDs, and skip deltas that the clock has passed.
	Oldest func() int64
	// Ended is called when a lease is withdrawn: at Invalidate, at Close, and at a loss that leaves
	// no grant to use up. When it returns, the generator composes and issues no more IDs under that
	// lease. It returns the highest delta of which the generator has issued an ID, or a higher one.
	Ended func() (issued int64)
}

// A Keeper keeps the worker IDs of a generator, one after the other, until Close. Make one with
// New.
type Keeper struct {
	Settings
	Alloc        *bitsalloc.Allocator
	hooks        Hooks
	leftOut      bool          // the Layout, which is the default then
	claimTimeout time.Duration // AssignTimeout, or its default for claims

	current atomic.Pointer[Grant] // nil while no grant may be used
	latest  atomic.Pointer[Grant] // the last value of current that was not nil
	reading atomic.Pointer[Clock] // the last reading of Domain.Now
	changed generator.Notifier    // wakes waiting goroutines after a change of current
	wake    chan struct{}         // capacity 1: wakes run, which checks current and want
	cancel  context.CancelFunc
	ran     sync.WaitGroup // of run

	// Used only by the goroutine; by Start before it, by Close after it.
	lease        assigner.Lease
	registration *Registration
	delay        time.Duration // backoff before the next try, after a failure
	refused      time.Duration // backoff before the next request is sent, after a refused one
	reported     string        // the failure logged last: outage, or the kind of the error waited for; "" after a success
	short        bool          // the log says that callers get no IDs
	ends, leads  bool          // the log has the warnings of announce
	highest      int64         // highest limit of all leases so far: no delta above it has been used

	// For Stats: renewals that succeeded, calls to the store that failed, and errors of takes.
	Renewals, Failures, Rejections atomic.Int64

	tracing atomic.Int64 // calls of Trace.TakeRejected under way

	lastErr atomic.Pointer[error] // the error of the last call to the store; nil if it succeeded

	want atomic.Int64 // the highest delta that Extend asked for since the last renewal; 0: none

	// ending is held by Invalidate, and while a new lease becomes current.
	ending      sync.Mutex
	invalidated int // calls of Invalidate
}

// StartContext returns the context of a start that Settings.StartTimeout bounds.
func (k *Keeper) StartContext() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), k.StartTimeout, fmt.Errorf("StartTimeout, %v, is over", k.StartTimeout))
}

// Start takes the first lease within ctx and keeps it until Close.
func (k *Keeper) Start(ctx context.Context, hooks Hooks) error {
	k.hooks = hooks
	if err := k.first(ctx); err != nil {
		return fmt.Errorf("%s: no worker ID: %w", k.Package, err)
	}
	k.succeeded(false)
	k.announceLayout()
	background, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.ran.Go(func() { k.run(background) })
	return nil
}

// AwaitFirst waits for d, in which the first unit begins that no earlier holder has used, or until
// ctx ends. If ctx ends earlier, it returns an error at once.
func (k *Keeper) AwaitFirst(ctx context.Context, d time.Duration) error {
	if tooLong(ctx, d) {
		return fmt.Errorf("%s: an earlier process may have used the worker ID for the next %v, and the start ends before: raise StartTimeout, "+
			"or the time of the context: %w", k.Package, d, context.DeadlineExceeded)
	}
	if d > slowStart {
		k.Logger.Warn("waiting for the first unit of a worker ID that an earlier process may have used", "for", d.String())
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: waiting for the first unit: %w", k.Package, generator.Ended(ctx))
	}
}

// Current returns the grant that may be used, or nil.
func (k *Keeper) Current() *Grant { return k.current.Load() }

// Latest returns the last grant that Current has returned.
func (k *Keeper) Latest() *Grant { return k.latest.Load() }

// Shortage returns ErrLeaseExhausted, and says why no grant covers the next unit.
func (k *Keeper) Shortage() error {
	grant := k.latest.Load()
	err := fmt.Errorf("%w: worker ID %d may be used up to delta %d", uidring.ErrLeaseExhausted, grant.WorkerID, grant.Last)
	if k.current.Load() == nil {
		err = fmt.Errorf("%w: worker ID %d is no longer held", uidring.ErrLeaseExhausted, grant.WorkerID)
	}
	if last := k.lastErr.Load(); last != nil {
		return fmt.Errorf("%w; last answer of the store: %w", err, generator.Detach(*last))
	}
	return err
}

// Changed returns a channel that is closed when the Keeper next gets a worker ID or a higher limit,
// or when a renewal has refused a request of Extend.
func (k *Keeper) Changed() <-chan struct{} { return k.changed.Wait() }

// Extend requests a grant that reaches up to delta. It does not wait; Changed reports the result.
func (k *Keeper) Extend(delta int64) {
	for want := k.want.Load(); delta > want; want = k.want.Load() {
		if k.want.CompareAndSwap(want, delta) {
			generator.Signal(k.wake)
			return
		}
	}
}

// Invalidate withdraws the current lease and takes another in the background. The old one is not
// released: a copy of this process may be using it.
func (k *Keeper) Invalidate() {
	k.ending.Lock()
	k.invalidated++
	k.current.Store(nil)
	k.hooks.Ended()
	k.ending.Unlock()
	k.Logger.Info("worker ID invalidated", "worker", k.latest.Load().WorkerID)
	generator.Signal(k.wake)
}

// Close stops the background work, waits for it, ends the lease, and releases the worker ID within
// the timeout. Call it once.
func (k *Keeper) Close() error {
	k.cancel()
	k.ran.Wait()
	grant := k.current.Swap(nil)
	issued := k.hooks.Ended()
	k.registration.End(issued)
	if grant == nil || grant.lost {
		k.abandon()
		return nil // no lease to release
	}
	if err := k.release(context.Background(), k.lease, issued); err != nil {
		k.Logger.Warn("worker ID not released", "worker", grant.WorkerID, "error", err)
		return fmt.Errorf("%s: worker ID not released: %w", k.Package, generator.Detach(err))
	}
	k.Logger.Info("worker ID released", "worker", grant.WorkerID)
	return nil
}
