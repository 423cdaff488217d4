package keeper

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
)

// Window returns the ID time between the generator's position and the limit of the current
// lease, and the real time that it lasts at the present pace. Both are 0 without a fence, at the
// limit, and when no worker ID is held.
func (k *Keeper) Window() (left, lasts time.Duration) {
	grant := k.current.Load()
	if grant == nil || !grant.Fenced() {
		return 0, 0
	}
	_, position := k.hooks.Deltas()
	position = min(position, grant.Last)
	left = k.Alloc.Time(grant.Last).Sub(k.Alloc.Time(position))
	if pace := grant.pace(position, k.Alloc.Layout().Unit); pace > 1 { // else a division could round beyond the longest Duration
		return left, time.Duration(float64(left) / pace)
	}
	return left, left
}

// longLead is how far ID time may be ahead of the clock before the Keeper warns.
const longLead = 10 * time.Minute

// announceLayout warns of a layout that was left out: it must stay as it is once there are IDs.
func (k *Keeper) announceLayout() {
	if !k.leftOut {
		return
	}
	d := k.domain()
	k.Logger.Warn("the Layout was left out, and cannot change later", "layout", d.Layout.String(),
		"ids_per_second", int64(time.Second/d.Layout.Unit)*(k.Alloc.MaxSequence()+1), "ends", k.Alloc.Expires().Format(time.DateOnly), "worker_ids", d.MaxWorkerID()+1,
		"remedy", "write one down: bitsalloc.Recommended() for leased worker IDs, or bitsalloc.Default() to keep this one")
}

// announceStart warns when the first unit of a new lease is ahead of the clock by more than 3 s and
// three units, which a few restarts within a unit may use up.
func (k *Keeper) announceStart(g *Grant) {
	ahead := g.First - g.Delta
	if ahead <= max(3, int64(3*time.Second/k.Alloc.Layout().Unit)) {
		return
	}
	calls := "IDs have a time that is so far ahead of the clock"
	if ahead > k.MaxAhead {
		calls = "Next returns an error until then, NextContext waits"
	}
	k.Logger.Warn("worker ID begins ahead of the clock", "worker", g.WorkerID, "ahead", (time.Duration(ahead) * k.Alloc.Layout().Unit).String(),
		"until", k.Alloc.Time(g.First).UTC().Format(time.RFC3339), "calls", calls,
		"remedy", "call Close when a process ends; after a crash wait, and after a burst choose a layout with more sequence bits")
}

// announce warns, once each, when the layout ends within a year, and when callers have driven ID
// time further ahead of the clock than longLead. The units that a lease begins ahead do not count.
func (k *Keeper) announce(g *Grant) {
	if !k.ends && k.Alloc.Time(g.position).AddDate(1, 0, 0).After(k.Alloc.Expires()) {
		k.ends = true
		k.Logger.Warn("the delta field is used up within a year", "expires", k.Alloc.Expires(), "layout", k.Alloc.Layout().String())
	}
	at := k.Alloc.Time(g.position - max(g.First-g.Delta, 0))
	if lead := min(at.Sub(k.Now()), at.Sub(g.Clock.Now())); !k.leads && lead > longLead {
		k.leads = true
		k.Logger.Warn("ID time runs ahead of the clock", "ahead", lead.Truncate(time.Minute).String(), "layout", k.Alloc.Layout().String(),
			"remedy", "a layout with more sequence bits, or MaxAhead to bound it")
	}
}

// Rejected counts and traces an error, unless it is ErrClosed, before a method of the generator
// returns it.
func (k *Keeper) Rejected(err error) error {
	if err != nil && !errors.Is(err, uidring.ErrClosed) {
		k.Rejections.Add(1)
		k.traceRejected(err)
	}
	return err
}

// traceRejected calls the user's func, unless that func is its caller: a func that takes an ID
// would call itself until the stack ends.
func (k *Keeper) traceRejected(err error) {
	if k.Trace.TakeRejected == nil || k.tracing.Load() > 0 && nested() {
		return
	}
	k.tracing.Add(1)
	defer k.tracing.Add(-1)
	generator.Report(k.Logger, "TakeRejected", k.Trace.TakeRejected, uidring.TakeRejectedInfo{Err: err})
}

// nested reports whether a call of traceRejected has called traceRejected.
func nested() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // without nested and its caller
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.HasSuffix(frame.Function, "keeper.(*Keeper).traceRejected") {
			return true
		}
	}
	return false
}
