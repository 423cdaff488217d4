package keeper

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
)

// Window returns the ID time between the generator's position and the limit of the current
// lease, and the real time until callers, at their present pace, or the clock reach the limit. Both
// are 0 without a fence, at the limit, and when no worker ID is held.
func (k *Keeper) Window() (left, lasts time.Duration) {
	state := k.Current()
	if state == nil || !state.Fenced() {
		return 0, 0
	}
	_, position := k.hooks.Deltas()
	position = min(position, state.Last)
	limit := k.Alloc.Time(state.Last)
	if left = limit.Sub(k.Alloc.Time(position)); left == 0 {
		return 0, 0
	}
	lasts = limit.Sub(k.Alloc.Time(min(position, k.Alloc.Delta(state.Clock.Now()))))
	//mutate:operator,number at a pace of 0 callers never reach it
	if pace := state.pace(position) * k.Alloc.Layout().Unit.Seconds(); pace > 0 && float64(left)/pace < float64(lasts) {
		lasts = time.Duration(float64(left) / pace)
	}
	return left, lasts
}

// Shortage returns ErrLeaseExhausted, and says why no grant covers the next unit.
func (k *Keeper) Shortage() error {
	state := k.Latest()
	err := fmt.Errorf("%w: worker ID %d may be used up to delta %d", uidring.ErrLeaseExhausted, state.WorkerID, state.Last)
	if state.Phase == None {
		err = fmt.Errorf("%w: worker ID %d is no longer held", uidring.ErrLeaseExhausted, state.WorkerID)
	}
	if last := k.lastErr.Load(); last != nil {
		return fmt.Errorf("%w; last answer of the store: %w", err, generator.Detach(*last))
	}
	return err
}

// Rejected counts and traces an error, unless it is ErrClosed, before a method of the generator
// returns it.
func (k *Keeper) Rejected(err error) error {
	if err != nil && !errors.Is(err, uidring.ErrClosed) {
		k.Rejections.Add(1) //mutate:swap the func may find the rejection counted or not
		k.traceRejected(err)
	}
	return err
}

// traceRejected calls the user's func, unless that func is its caller: a func that takes an ID
// would call itself until the stack ends.
func (k *Keeper) traceRejected(err error) {
	//mutate:operand,operator Report has no func to call; nested decides, and tracing saves its time
	if k.Trace.TakeRejected == nil || k.tracing.Load() > 0 && nested() {
		return
	}
	k.tracing.Add(1)        //mutate:number nested decides
	defer k.tracing.Add(-1) //mutate:remove nested decides
	generator.Report(k.Logger, "TakeRejected", k.Trace.TakeRejected, uidring.TakeRejectedInfo{Err: err})
}

// nested reports whether a call of traceRejected has called traceRejected.
func nested() bool {
	//mutate:number funcs of Trace call no more than some hundred funcs
	pcs := make([]uintptr, 256)
	//mutate:number Rejected called them
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // without nested and its caller
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.HasSuffix(frame.Function, "keeper.(*Keeper).traceRejected") {
			return true
		}
	}
	return false
}
