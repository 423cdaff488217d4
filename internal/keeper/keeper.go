// Package keeper keeps a worker ID for a generator: it takes a lease, renews it, and takes another
// when the lease is lost. It runs beside the generator, so that a slow store never delays an ID.
//
// A lease is the right to a worker ID, which the store gives. A State says how far the generator
// may use it. Keeper.transition makes the changes of this picture, and no other func does:
//
//	  Start
//	    |
//	    |                  +------+  renewed: the store moves the limit,
//	    v                  |      |  or fails for a while
//	+--------+  claimed +--------+ |
//	|  None  |--------->|  Held  |<+
//	|        |<---------|        |
//	+--------+ ended (1)+--------+
//	    ^                ^     |  lost: ErrWorkerRowLost, the store
//	    |        claimed |     |  still has the fence
//	    |                |     v
//	    |               +--------+
//	    +---------------|  Lost  |  the generator uses up the grant,
//	      ended (2)     +--------+  which cannot be extended
//
//	(1) Invalidate, or a loss without a fence, or after which the store may grant the same deltas
//	    again, or with a limit below the deltas in use
//	(2) Invalidate
//
// Both call Hooks.Ended, after which the generator has no ID of the lease left. In None and Lost
// the Keeper calls Assign with growing pauses until a store gives a worker ID. Close leads from any
// phase to None, and releases the worker ID if it is held.
//
// Example: a grant reaches up to delta 100. At half of it the generator calls Extend(101), and
// Renew asks the store for 101. The store answers with the limit 160, and Current is a new State of
// the same Generation. If the store refuses, the request is dropped: a clock may be wrong for a
// moment. A generator that still needs delta 101 calls Extend again, and the Keeper asks after a
// pause, which doubles from refusal to refusal up to 10 s.
//
// This file is the beginning of the way of a renewal: it decides when. In package assigner,
// fence.go decides how far the lease reaches, and lease.go changes the row in a store. A claim
// takes the same way through claim.go here and there.
package keeper

import (
	"context"
	"errors"
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
// Close call them; they must not block for long, nor call the Keeper's methods but Current, Latest
// and Extend.
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
	claimTimeout time.Duration // AssignTimeout, or its default for claims

	state   atomic.Pointer[State] // see transition
	moving  sync.Mutex            // held by transition
	changed generator.Notifier    // wakes waiting goroutines after a change of state
	want    atomic.Int64          // the highest delta that Extend asked for since the last renewal; 0: none
	wake    chan struct{}         // capacity 1: wakes run, which checks state and want
	cancel  context.CancelFunc
	ran     sync.WaitGroup // of run

	// Used only by the goroutine; by Start before it, by Close after it.
	lease        assigner.Lease
	registration *Registration
	delay        time.Duration // backoff before the next try, after a failure
	refused      time.Duration // backoff before the next request is sent, after a refused one
	highest      int64         // highest limit of all leases so far: no delta above it has been used
	report       report

	// For Stats: renewals that succeeded, calls to the store that failed, and errors of takes.
	Renewals, Failures, Rejections atomic.Int64

	tracing atomic.Int64          // calls of Trace.TakeRejected under way
	lastErr atomic.Pointer[error] // the error of the last call to the store; nil if it succeeded
}

// heartbeat is the time between the beginnings of two renewals, each bounded by renewTimeout and by
// AssignTimeout. So a renewal ends within a minute of the beginning of the last, as package
// assigner promises to leases.
const (
	heartbeat    = 45 * time.Second
	renewTimeout = time.Minute - heartbeat
)

// Start takes the first lease within ctx and keeps it until Close.
func (k *Keeper) Start(ctx context.Context, hooks Hooks) error {
	k.hooks = hooks
	if err := k.first(ctx); err != nil {
		return fmt.Errorf("%s: no worker ID: %w", k.Package, err)
	}
	k.succeeded(false) //mutate:number Start returns before an outage can be reported
	k.announceLayout()
	background, cancel := context.WithCancel(context.Background())
	k.cancel = cancel //mutate:swap run does not use cancel
	k.ran.Go(func() { k.run(background) })
	return nil
}

func (k *Keeper) run(ctx context.Context) {
	timer := time.NewTimer(k.untilRenewal())
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			state := k.Current()
			//mutate:number a nanosecond more
			if k.delay > 0 || state != nil && (k.refused > 0 || state.Last >= k.want.Load()) {
				continue // nothing to do, or a backoff, which a wake-up does not cut short
			}
		case <-timer.C:
		}
		timer.Reset(k.step(ctx))
	}
}

// step renews the lease, or takes one if none is held, and returns the time to wait before the next
// step.
func (k *Keeper) step(ctx context.Context) time.Duration {
	started := time.Now()
	//mutate:swap no test stops a transition between its two steps
	k.moving.Lock()        // a transition has called Ended by then
	from := k.state.Load() //mutate:swap as above
	k.moving.Unlock()
	held := from.Phase == Held
	var err error
	if held {
		err = k.renew(ctx, from)
	} else {
		used, _ := k.hooks.Deltas()
		k.registration.End(used)
		err = k.claim(ctx, from)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		//mutate:swap the time of a report is no promise
		k.succeeded(held)
		next := max(k.untilRenewal()-time.Since(started), shortestPause) // a slow renewal hardly delays the next
		//mutate:number a nanosecond more
		if k.refused > 0 {
			next = min(next, k.refused)
		}
		return next
	case held && errors.Is(err, assigner.ErrWorkerRowLost):
		return 0
	}
	if after, passes := uidring.RetryAfter(err); passes && !held {
		k.delay = k.pause(after, err)
		err = postponed{err, time.Now().Add(k.delay)}
	} else {
		k.delay = nextDelay(k.delay, from.RenewWithin) //mutate:swap failed does not read the delay
		k.failed(err)
	}
	k.lastErr.Store(&err) //mutate:swap the func may find the error stored or not
	generator.Report(k.Logger, "RenewFailed", k.Trace.RenewFailed, assigner.LeaseInfo{Grant: k.Latest().Grant, Err: err})
	k.reportShortage(err)
	return k.delay
}

// renew renews the lease that is held.
func (k *Keeper) renew(ctx context.Context, held *State) error {
	call, cancel := context.WithTimeout(context.Background(), min(k.AssignTimeout, renewTimeout))
	defer cancel() //mutate:remove the timeout ends the context, too
	oldest := k.hooks.Oldest()
	used, position := k.hooks.Deltas()
	used = min(used, position, k.highest)
	want := k.want.Load()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(k.AssignTimeout/4, cancel) })() // cut off, it may keep Close from lowering the fence
	grant, err := k.lease.Renew(call, assigner.Use{Used: used, Want: max(position, want), Oldest: oldest})
	//mutate:operand such a lease is lost when the store answers again
	if err == nil && grant.WorkerID != held.WorkerID {
		err = fmt.Errorf("%w: a renewal of worker ID %d has returned worker ID %d", assigner.ErrWorkerRowLost, held.WorkerID, grant.WorkerID)
	}
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		k.lose(held, grant, err)
	}
	if err != nil {
		return err
	}
	k.Renewals.Add(1)
	k.highest = max(k.highest, grant.Last)
	k.want.CompareAndSwap(want, 0) // a generator that still needs a refused delta asks again
	if k.refused = nextDelay(k.refused, 0); grant.Last >= want {
		k.refused = 0
	}
	//mutate:operator on equality the position is an estimate
	if position > grant.Last { // the clock was wrong for a moment, or is ahead of a lossy store
		position = min(used, grant.Last)
	}
	state, _ := k.transition(held, held.reach(position, grant.Last))
	if state == nil {
		return nil
	}
	k.announce(state)
	if k.refused > 0 || state.Last != held.Last { //mutate:number a nanosecond more
		k.changed.Wake()
	}
	return nil
}

// untilRenewal returns the time to wait before the next renewal: the longest time that the lease
// allows, or half of the time that the clock takes to reach the limit if that is shorter. A
// generator that uses deltas faster than the clock calls Extend.
func (k *Keeper) untilRenewal() time.Duration {
	state, longest := k.Latest(), heartbeat // if Invalidate has ended the lease, it has woken run
	if state.RenewWithin > 0 {
		longest = max(min(longest, state.RenewWithin), shortestPause)
	}
	if !state.Fenced() {
		return longest
	}
	unit, lossy := k.Alloc.Layout().Unit, state.Guarantee == assigner.GuaranteeLossy
	_, position := k.hooks.Deltas()
	left := state.Last - position
	//mutate:number an estimate
	if left > 0 && !lossy { // the clock uses up nothing of a grant that is ahead of it
		//mutate:argument an estimate
		left = state.Last - min(position, k.Alloc.Delta(state.Clock.Now()))
	}
	switch {
	//mutate:number an estimate
	case left <= 0 && lossy: // its fences follow its clock
		return min(longest, time.Second)
	//mutate:operator an estimate
	case left <= 0 || left >= int64(2*longest/unit): // if the store grants no more, the generator calls Extend when it needs more
		return longest
	}
	return max(time.Duration(left)*unit/2, shortestPause)
}

// Extend requests a grant that reaches up to delta. It does not wait; Changed reports the result.
func (k *Keeper) Extend(delta int64) {
	for want := k.want.Load(); delta > want; want = k.want.Load() { //mutate:operator an extra wake finds nothing due
		//mutate:true after a lost race the generator asks again
		if k.want.CompareAndSwap(want, delta) {
			generator.Signal(k.wake)
			return
		}
	}
}

// Changed returns a channel that is closed when the Keeper next gets a worker ID or a higher limit,
// or when a renewal has refused a request of Extend.
func (k *Keeper) Changed() <-chan struct{} { return k.changed.Wait() }
