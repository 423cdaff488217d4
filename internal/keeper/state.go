package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
)

// A Phase is the use that the generator may make of a State.
type Phase uint8

const (
	None Phase = iota // it has no lease, and may use no delta
	Held              // it may use the grant, and a renewal can move Last
	Lost              // it may use up the grant, which no renewal extends
)

// A State is a lease and how far the generator may use it. It is immutable. In None, the grant is
// of the lease before.
type State struct {
	Phase Phase
	assigner.Grant
	Generation uint64 // number of the lease; a renewal keeps it
	Clock      Clock  // goes on from the reading of the claim, or from an earlier lease's if that is ahead
	Delta      int64  // of the reading of the claim, even if Clock is ahead of it
	Half       int64  // on using this delta the generator calls Extend, long before Last

	at       time.Time // when position was read; pace measures from there
	position int64
	rate     float64 // deltas per second before at
}

// The following funcs return the states behind the arrows of the picture.

// claimed returns the state after Assign has returned a lease: None or Lost -> Held.
func (k *Keeper) claimed(before *State, grant assigner.Grant, clock Clock) State {
	s := State{Phase: Held, Grant: grant, Generation: before.Generation + 1, Clock: clock, Delta: k.Alloc.Delta(clock.Now())}
	if before.Clock.Now().After(clock.Now()) {
		s.Clock = before.Clock
	}
	if s.Reused() { // an earlier process may have used the deltas below First
		ahead := k.MaxAhead
		if k.AllowReuse {
			ahead = 0
		}
		s.First = max(s.First, s.Delta+ahead+1)
	}
	return s.reach(max(s.First-1, s.Delta), grant.Last)
}

// reach returns the state after a renewal up to last at position: Held -> Held. Half lies between
// the two. Without a fence no delta reaches Half.
func (s State) reach(position, last int64) State {
	s.rate = s.pace(position)
	s.at, s.position, s.Last, s.Half = time.Now(), position, last, last-(last-position)/2
	return s
}

// lost returns the state after Renew has returned err, ErrWorkerRowLost, with a grant whose Last
// may be lower than before: Held -> Lost, or None if the worker ID may have a new holder in the
// same deltas, as when the store has lost the fence.
func (s State) lost(grant assigner.Grant, err error) State {
	gone := errors.Is(err, leasestore.ErrFenceRegressed) || errors.Is(err, leasestore.ErrRowMissing)
	if !s.Fenced() || grant.WorkerID != s.WorkerID || gone {
		return s.ended()
	}
	s.Phase, s.Last, s.Half = Lost, min(s.Last, grant.Last), math.MaxInt64
	return s
}

// ended returns the state after Invalidate, Close, or a loss that leaves nothing: any -> None.
func (s State) ended() State {
	s.Phase = None
	return s
}

// transition changes the state, and returns the new one. It returns nil if from is no longer the
// state, since Invalidate was faster. When transition has returned a state without a lease,
// Hooks.Ended has returned issued.
func (k *Keeper) transition(from *State, to State) (next *State, issued int64) {
	k.moving.Lock()
	defer k.moving.Unlock()
	if k.state.Load() != from {
		return nil, 0 //mutate:number callers read nothing beside nil
	}
	k.state.Store(&to)
	if to.Phase == None {
		issued = k.hooks.Ended()
	}
	return &to, issued
}

// end withdraws the lease in any state, and returns that state and the result of Hooks.Ended.
func (k *Keeper) end() (last *State, issued int64) {
	var next *State
	for next == nil {
		last = k.Latest()
		next, issued = k.transition(last, last.ended())
	}
	return last, issued
}

// lose records the loss of the lease held. Its grant may be lower than before.
func (k *Keeper) lose(held *State, grant assigner.Grant, err error) {
	state, _ := k.transition(held, held.lost(grant, err))
	if state == nil {
		return
	}
	k.succeeded(false) // the store has answered: the next failure is of a claim
	k.lastErr.Store(&err)
	// If the limit was lowered, IDs above it may be prepared. Deltas waits for a pass that composes
	// under the old limit. It may call the user's clock, so no lock is held.
	if state.Phase == Lost { //mutate:true without a lease no delta above Last is used
		if used, _ := k.hooks.Deltas(); used > state.Last {
			k.transition(state, state.ended())
		}
	}
	k.Logger.Error("worker ID lost", workerOf(held.Grant), "error", err)
	generator.Report(k.Logger, "LeaseLost", k.Trace.LeaseLost, assigner.LeaseInfo{Grant: held.Grant, Err: err})
}

// Current returns the state if it has a grant that the generator may use, or nil.
func (k *Keeper) Current() *State {
	if s := k.state.Load(); s.Phase != None {
		return s
	}
	return nil
}

// Latest returns the state, whose grant may be of a lease that has ended.
func (k *Keeper) Latest() *State { return k.state.Load() }

// Invalidate withdraws the current lease and takes another in the background. The old one is not
// released: a copy of this process may be using it. A lease that the Keeper is claiming is dropped
// for the same reason.
func (k *Keeper) Invalidate() {
	last, _ := k.end()
	k.Logger.Info("worker ID invalidated", workerOf(last.Grant))
	generator.Signal(k.wake)
}

// Close stops the background work, waits for it, ends the lease, and releases the worker ID within
// the timeout. Call it once.
func (k *Keeper) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), k.AssignTimeout)
	defer cancel()
	k.cancel()
	k.ran.Wait()
	last, issued := k.end()
	k.registration.End(issued)
	if last.Phase != Held {
		k.abandon() //mutate:remove no test stops run before its next step, which abandons the lease
		return nil  // no lease to release
	}
	return k.release(ctx, k.lease, issued)
}

// release gives the worker ID of a lease back within the timeout, and logs the result.
func (k *Keeper) release(ctx context.Context, lease assigner.Lease, used int64) error {
	ctx, cancel := context.WithTimeout(ctx, k.AssignTimeout)
	defer cancel()
	if err := lease.End(ctx, assigner.Ending{Released: true, Used: used}); err != nil {
		k.Logger.Warn("worker ID not released", workerOf(lease.Grant()), "error", err)
		return fmt.Errorf("%s: worker ID not released: %w", k.Package, generator.Detach(err))
	}
	k.Logger.Info("worker ID released", workerOf(lease.Grant()))
	return nil
}

// abandon ends the last lease without giving the worker ID back.
func (k *Keeper) abandon() {
	if k.lease != nil {
		_ = k.lease.End(context.Background(), assigner.Ending{})
	}
}

// Reused reports whether an earlier process may have used the worker ID without a fence.
func (s *State) Reused() bool { return s.Reusable && !s.Fenced() }

// pace returns the deltas per second since position was last read, or before it if that was less
// than a second ago.
func (s *State) pace(position int64) float64 {
	elapsed := time.Since(s.at)
	if elapsed < time.Second { //mutate:operator an estimate
		return s.rate
	}
	return float64(position-s.position) / elapsed.Seconds()
}

// A Clock is a reading of the wall clock, carried on by the monotonic clock. Setting the wall clock
// later does not move it, and an injected Now need not have a monotonic reading.
type Clock struct{ wall, since time.Time }

// Now returns the reading plus the time elapsed since.
func (c Clock) Now() time.Time { return c.wall.Add(time.Since(c.since)) }
