package cached

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/uidring/uidring/internal/tenure"
)

// handover is called by the taker that used up a run; left is what the other runs hold.
func (g *Generator) handover(left int) {
	if left <= g.threshold {
		signal(g.wake)
	}
}

// padLoop is the padding goroutine. It pads when takers ask for it, when a schedule says so, when
// runs may have become stale, and when what made it stop may have gone away.
func (g *Generator) padLoop() {
	var schedule, stale <-chan time.Time
	if g.cfg.ScheduleInterval > 0 {
		ticker := time.NewTicker(g.cfg.ScheduleInterval)
		defer ticker.Stop()
		schedule = ticker.C
	}
	if g.cfg.MaxStaleness > 0 {
		ticker := time.NewTicker(staleTick(g.cfg.MaxStaleness))
		defer ticker.Stop()
		stale = ticker.C
	}
	for {
		news := g.tenure.News() // before the pass, to miss none
		wake := g.wake
		var retry <-chan time.Time
		if err := g.fill(); err != nil {
			// Takers that find the ring empty cannot help: a timer or the tenure will.
			wake = nil
			if ahead, ok := errors.AsType[*AheadError](err); ok {
				retry = time.After(ahead.RetryIn)
			}
		}
		select {
		case <-g.done:
			return
		case <-wake:
		case <-retry:
		case <-news:
		case <-schedule:
		case <-stale:
		}
	}
}

// maxPass is the number of blocks that a padding pass puts at most: Put takes some 0.1 µs, and a
// caller that finds the ring empty waits for the pass under way.
const maxPass = 256

// fill makes padding passes until no slot is free, unless one is refused.
func (g *Generator) fill() error {
	for {
		put, last, err := g.pass(maxPass)
		g.remember(err)
		g.padded(put, last, false)
		if err != nil {
			g.refuse(err)
		}
		if err != nil || put < maxPass {
			return err
		}
		runtime.Gosched() // to callers that waited for the mutex: else the next pass would take it first
	}
}

// refuse reports an error that ended a padding pass, unless it comes from Close.
func (g *Generator) refuse(err error) {
	if isClosed(err) {
		return
	}
	g.rejectedPuts.Add(1)
	report(g, "PutRejected", g.cfg.Trace.PutRejected, err)
	if !passing(err) {
		g.bell.Ring() // waiting callers return this error
	}
}

// remember keeps what stopped the padding goroutine for callers that find the ring empty.
func (g *Generator) remember(refused error) {
	if refused == nil {
		g.refused.Store(nil)
		return
	}
	g.refused.Store(&refused)
}

// padInline puts a single run, so that the caller gets its ID soon. The padding goroutine, which
// the hand-over of the last run has woken, does the rest.
func (g *Generator) padInline() error {
	put, last, err := g.pass(1)
	if put > 0 {
		g.inlinePads.Add(1)
		err = nil
	}
	g.padded(put, last, true)
	return err
}

// pass puts up to limit runs under the mutex. A single run is put into an empty ring only: else
// another caller was faster.
func (g *Generator) pass(limit int) (put int, last int64, err error) {
	g.running.Lock()
	defer g.running.Unlock()
	switch {
	case g.closed.Load():
		err = ErrClosed
	case limit > 1 || g.ring.Free() == 1<<g.cfg.BoostPower:
		put, err = g.put(limit)
	}
	return put, g.lastSecond.Load(), err
}

// padded tells everybody concerned about runs that were put.
func (g *Generator) padded(runs int, last int64, inline bool) {
	if runs == 0 {
		return
	}
	g.bell.Ring()
	g.passes.Add(1)
	report(g, "Padded", g.cfg.Trace.Padded, PaddedInfo{Runs: runs, LastDelta: last, Inline: inline})
	if last >= g.warnFrom && !g.warned.Swap(true) {
		expires := g.alloc.Expires()
		g.cfg.Logger.Warn("the delta field is used up within a year", "expires", expires, "layout", g.alloc.Layout().String())
		report(g, "Expiring", g.cfg.Trace.Expiring, expires)
	}
}

// put puts up to limit runs, as long as slots are free, and returns how many, and why no more where
// a slot stayed free. The caller holds running.
func (g *Generator) put(limit int) (put int, err error) {
	now := g.alloc.Delta(g.clock.now())
	g.freshen(now)
	for put < limit && g.ring.Free() > 0 {
		h := g.tenure.Current()
		if h != nil && h.Term != g.term {
			now = g.adopt(h, now)
		}
		delta := g.lastSecond.Load() + 1
		if err := g.admit(h, delta, now); err != nil {
			return put, err
		}
		// In this order a panic may lose a run, but not put it twice. A refused delta is not burnt.
		g.lastSecond.Store(delta)
		first, err := g.alloc.Allocate(delta, g.cfg.DatacenterID, h.WorkerID, 0)
		if err != nil {
			panic(fmt.Sprintf("bug: cached: admitted delta %d: %v", delta, err))
		}
		g.ring.Put(first)
		g.newest = first
		put++
		if delta >= h.Half {
			g.tenure.Extend(h.Limit + 1) // ahead of need, so that a slow store costs nothing
		}
	}
	return put, nil
}

// admit says whether a run may be composed for delta.
func (g *Generator) admit(h *tenure.Holding, delta, now int64) error {
	switch {
	case delta > g.alloc.MaxDelta():
		return tenure.Exhausted(ErrTimeExhausted, g.alloc)
	case h == nil:
		return g.tenure.Shortage(ErrLeaseExhausted)
	case delta > h.Limit:
		g.tenure.Extend(delta + int64(g.ring.Free()) - 1)
		return g.tenure.Shortage(ErrLeaseExhausted)
	case g.maxAhead > 0 && delta-now > g.maxAhead:
		t := g.clock.now()
		return &AheadError{
			Ahead:   g.alloc.Time(delta).Sub(t),
			Max:     time.Duration(g.maxAhead) * g.alloc.Layout().Unit,
			RetryIn: max(g.alloc.Time(delta-g.maxAhead).Sub(t), time.Millisecond),
		}
	}
	return nil
}

// adopt starts a new worker ID above everything that was composed before, and above its own first
// delta. The clock follows the reading made when the worker ID was taken, never backwards.
func (g *Generator) adopt(h *tenure.Holding, now int64) int64 {
	g.term = h.Term
	g.raise(max(h.First-1, h.Delta))
	if behind := h.Delta - now; behind > 0 && h.Term > 1 {
		g.clock.wall = g.clock.wall.Add(time.Duration(behind) * g.alloc.Layout().Unit)
		now = h.Delta
	}
	return now
}

// freshen drops the runs that lie too far behind the clock, and moves lastSecond up to it where the
// next run would, too.
func (g *Generator) freshen(now int64) {
	oldest := min(now-g.maxStale, g.alloc.MaxDelta())
	if g.maxStale < 0 || oldest < 1 {
		return
	}
	before, err := g.alloc.Allocate(oldest, 0, 0, 0)
	if err != nil {
		panic(fmt.Sprintf("bug: cached: no ID of delta %d: %v", oldest, err))
	}
	g.retireLanes(uint64(before) - 1)
	if g.ring.Retire(before) > 0 || g.lastSecond.Load() < oldest {
		g.raise(now)
	}
}

// raise moves lastSecond forward, never back.
func (g *Generator) raise(delta int64) {
	if delta > g.lastSecond.Load() {
		g.lastSecond.Store(delta)
	}
}
