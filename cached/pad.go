package cached

import (
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
)

// handover wakes the padding goroutine when few blocks are left. The call of the ring that begins a
// block calls it; left is the number of blocks in the ring, including that block.
func (g *Generator) handover(left int) {
	if left <= max(g.ring.Slots()*g.cfg.PaddingFactor/100, 1) {
		generator.Signal(g.wake)
	}
}

// padLoop is the padding goroutine. It pads when a taker wakes it, at every tick of
// ScheduleInterval, when blocks may have become stale, and when the reason for a refused pass may
// have passed.
func (g *Generator) padLoop() {
	schedule := time.Tick(g.cfg.ScheduleInterval) // nil if that is 0
	stale := time.Tick(g.cfg.MaxStaleness / 4)
	for {
		changed := g.keeper.Changed() // before the pass, to miss no change
		wake := g.wake
		var retry <-chan time.Time
		if err := g.pad(false); err != nil {
			// Takers that find the ring empty would be refused, too: wait for a timer or the
			// keeper.
			wake = nil
			if ahead, ok := errors.AsType[generator.Passing](err); ok {
				retry = time.After(ahead.RetryAfter())
			}
		}
		select {
		case <-g.closer.Done():
			return
		case <-wake:
		case <-retry:
		case <-changed:
			g.filled.Wake() // callers that wait may have another reason to wait now
		case <-schedule:
		case <-stale:
		}
	}
}

// pad makes a padding pass of a ring at most, since a caller that finds the ring empty waits for
// the pass. Takers that have made room meanwhile have woken the padding goroutine again. An inline
// pass is the pass of a caller that finds the ring empty. It puts a single block, so that the
// caller gets its ID soon. The caller wakes the padding goroutine when it begins the block, and
// that goroutine fills the ring.
func (g *Generator) pad(inline bool) error {
	blocks, err := g.put(inline)
	if blocks > 0 {
		g.filled.Wake() //mutate:swap a woken caller may find the pass counted or not
		g.passes.Add(1)
		generator.Report(g.keeper.Logger, "Padded", g.cfg.Trace.Padded, PaddedInfo{blocks})
	}
	switch {
	case inline:
		g.inlinePads.Add(int64(blocks))
	case err != nil:
		g.rejectedPuts.Add(1)
		//mutate:true an extra wake
		if _, passes := uidring.RetryAfter(err); !passes {
			g.filled.Wake() // callers that wait return this error
		}
	}
	return err
}

// put puts blocks while slots are free and the grant reaches, and returns their number. If inline
// is true, it puts a single block, or none under the policy Reject, and only into an empty ring:
// otherwise another caller was faster. It returns the error that made it leave a slot free, but
// none for a grant that is too short to fill the ring: takers see it when the ring is empty.
func (g *Generator) put(inline bool) (blocks int, err error) {
	g.running.Lock()
	defer g.running.Unlock()
	limit := g.ring.Slots()
	switch {
	case inline && g.ring.Free() < limit:
		return 0, nil
	case inline:
		limit = 1
	}
	g.freshen()
	defer g.scatter()
	for ; blocks < limit && g.ring.Free() > 0; blocks++ {
		grant := g.keeper.Current()
		if grant != nil {
			g.lastSecond = max(g.lastSecond, grant.First-1, grant.Delta) // a new lease begins above the clock, too
		}
		delta := g.lastSecond + 1
		if grant != nil && delta > grant.Last && g.ring.Free() < g.ring.Slots() {
			break
		}
		err := g.admit(grant, delta)
		if inline && g.cfg.OnEmpty == Reject {
			generator.Signal(g.wake)
			err = empty(err)
		}
		if err != nil {
			return blocks, err
		}
		// In this order a panic may lose a block, but not put it twice. A refused delta is not used
		// up.
		g.lastSecond = delta
		first := g.keeper.FirstID(delta, grant.WorkerID)
		g.newest = first | g.alloc.MaxSequence()
		g.ring.Put(first, g.newest)
	}
	// Ask for a higher limit when half of the grant is used, so that a slow store costs nothing.
	// Blocks in the ring do not count as used: a large ring must not raise the fence far above the
	// clock.
	//mutate:operator,operand a request a unit later is as good; no test ends a lease between two lines
	if grant := g.keeper.Current(); grant != nil && g.begun() >= grant.Half {
		g.keeper.Extend(grant.Last + 1) //mutate:number a request for one delta more is as good
	}
	return blocks, nil
}

// admit returns nil if the generator may compose a block for delta, or the reason why not.
func (g *Generator) admit(grant *keeper.State, delta int64) error {
	switch {
	case delta > g.alloc.MaxDelta():
		return g.keeper.Exhausted()
	case grant == nil:
		return g.keeper.Shortage()
	case delta > grant.Last:
		g.keeper.Extend(delta + int64(g.ring.Free()) - 1) //mutate:number a request for one delta more is as good
		return g.keeper.Shortage()
	}
	now := g.now()
	if delta-g.alloc.Delta(now) <= g.keeper.MaxAhead {
		return nil
	}
	ahead, most := g.alloc.Time(delta).Sub(now), g.cfg.MaxAhead
	return generator.Passing{Err: fmt.Errorf("%w: by %v, allowed: %v", ErrTooFarAhead, ahead, most), After: ahead - most}
}
