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

	unit     time.Duration
	at       time.Time // when position was read; pace measures from there
	position int64
	rate     float64 // ID time per real time before at
}

// The events that change a State.
type (
	claimed struct { // Assign has returned a lease
		grant assigner.Grant
		clock Clock
		delta int64 // of clock
		ahead int64 // Settings.Ahead
		unit  time.Duration
	}
	renewed struct { // Renew has returned the limit last, when the generator was at position
		position, last int64
	}
	lost struct { // Renew has returned ErrWorkerRowLost
		grant assigner.Grant // its Last may be lower than before
		gone  bool           // the store has lost the fence
	}
	ended struct{} // Invalidate, Close, or a loss that leaves nothing
)

// after returns the state that follows an event: the arrows of the picture.
func (s State) after(event any) State {
	switch e := event.(type) {
	case claimed: // None, Lost -> Held
		next := State{Phase: Held, Grant: e.grant, Generation: s.Generation + 1, Clock: e.clock, Delta: e.delta, unit: e.unit}
		if s.Clock.Now().After(e.clock.Now()) {
			next.Clock = s.Clock
		}
		if next.Reused() {
			next.First = max(next.First, next.Delta+e.ahead+1) // an earlier process may have used the deltas below
		}
		return next.reach(max(next.First-1, next.Delta), e.grant.Last)
	case renewed: // Held -> Held
		return s.reach(e.position, e.last)
	case lost: // Held -> Lost, or None if the worker ID may have a new holder in the same deltas
		if !s.Fenced() || e.grant.WorkerID != s.WorkerID || e.gone {
			return s.after(ended{})
		}
		s.Phase, s.Last, s.Half = Lost, min(s.Last, e.grant.Last), math.MaxInt64
	case ended: // any -> None
		s.Phase = None
	}
	return s
}

// transition changes the state after an event, and returns the new one. It returns nil if from is
// no longer the state, since Invalidate was faster; a nil from is any state. When transition has
// returned a state without a lease, Hooks.Ended has returned issued.
func (k *Keeper) transition(from *State, event any) (next *State, issued int64) {
	k.moving.Lock()
	defer k.moving.Unlock()
	if now := k.state.Load(); from == nil {
		from = now
	} else if from != now {
		return nil, 0 //mutate:number callers read nothing beside nil
	}
	next = new(from.after(event))
	k.state.Store(next)
	if next.Phase == None {
		issued = k.hooks.Ended()
	}
	return next, issued
}

// lose records the loss of the lease held. Its grant may be lower than before.
func (k *Keeper) lose(held *State, grant assigner.Grant, err error) {
	gone := errors.Is(err, leasestore.ErrFenceRegressed) || errors.Is(err, leasestore.ErrRowMissing)
	state, _ := k.transition(held, lost{grant, gone})
	if state == nil {
		return
	}
	k.lastErr.Store(&err)
	// If the limit was lowered, IDs above it may be prepared. Deltas waits for a pass that composes
	// under the old limit. It may call the user's clock, so no lock is held.
	if state.Phase == Lost { //mutate:true without a lease no delta above Last is used
		if used, _ := k.hooks.Deltas(); used > state.Last {
			k.transition(state, ended{})
		}
	}
	k.Logger.Error("worker ID lost", "worker", held.WorkerID, "error", err)
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
	none, _ := k.transition(nil, ended{})
	k.Logger.Info("worker ID invalidated", "worker", none.WorkerID)
	generator.Signal(k.wake)
}

// Close stops the background work, waits for it, ends the lease, and releases the worker ID within
// the timeout. Call it once.
func (k *Keeper) Close() error {
	k.cancel()
	k.ran.Wait() //mutate:swap the loop reads the state again
	last := k.Latest()
	none, issued := k.transition(last, ended{})
	for ; none == nil; none, issued = k.transition(last, ended{}) { //mutate:false no test calls Invalidate in between
		last = k.Latest() //mutate:remove as above
	}
	k.registration.End(issued)
	if last.Phase != Held {
		k.abandon() //mutate:remove no test stops run before its next step, which abandons the lease
		return nil  // no lease to release
	}
	if err := k.release(context.Background(), k.lease, issued); err != nil {
		k.Logger.Warn("worker ID not released", "worker", last.WorkerID, "error", err)
		return fmt.Errorf("%s: worker ID not released: %w", k.Package, generator.Detach(err))
	}
	k.Logger.Info("worker ID released", "worker", last.WorkerID)
	return nil
}

// release gives the worker ID of a lease back within the timeout.
func (k *Keeper) release(ctx context.Context, lease assigner.Lease, used int64) error {
	ctx, cancel := context.WithTimeout(ctx, k.AssignTimeout)
	defer cancel()
	return lease.End(ctx, assigner.Ending{Released: true, Used: used})
}

// abandon ends the last lease without giving the worker ID back.
func (k *Keeper) abandon() {
	if k.lease != nil {
		_ = k.lease.End(context.Background(), assigner.Ending{})
	}
}

// Reused reports whether an earlier process may have used the worker ID without a fence.
func (s *State) Reused() bool { return s.Reusable && !s.Fenced() }

// reach returns the state with the limit last, and Half between it and position. Without a fence no
// delta reaches Half.
func (s State) reach(position, last int64) State {
	s.rate = s.pace(position)
	s.at, s.position, s.Last, s.Half = time.Now(), position, last, last-(last-position)/2
	return s
}

// pace returns the ID time per real time since position was last read, or before it if that was
// less than a second ago.
func (s *State) pace(position int64) float64 {
	elapsed := time.Since(s.at)
	if elapsed < time.Second { //mutate:operator an estimate
		return s.rate
	}
	return float64(position-s.position) * float64(s.unit) / float64(elapsed)
}

// A Clock is a reading of the wall clock, carried on by the monotonic clock. Setting the wall clock
// later does not move it, and an injected Now need not have a monotonic reading.
type Clock struct{ wall, since time.Time }

// Now returns the reading plus the time elapsed since.
func (c Clock) Now() time.Time { return c.wall.Add(time.Since(c.since)) }
