package cached

import (
	"fmt"
	"time"
)

// ID time counts up by one unit a block, and jumps when a worker ID is new or the generator was
// idle.

// now returns the time by the clock that belongs to the latest lease.
func (g *Generator) now() time.Time { return g.keeper.Latest().Clock.Now() }

// staleTick returns the interval at which the padding goroutine looks for stale blocks.
func staleTick(maxStaleness time.Duration) time.Duration { return maxStaleness / 4 }

// staleUnits returns the number of units that a block may be behind the clock when the padding
// goroutine checks it; negative: any. A block within that number stays within maxStaleness, of two
// units at least, until the next check. One more unit is subtracted because the fractions of units
// are not counted.
func staleUnits(maxStaleness, unit time.Duration) int64 {
	return int64((maxStaleness-staleTick(maxStaleness))/unit) - 1
}

// freshen drops the blocks that are too far behind the clock. It moves lastSecond up to the clock
// if it has dropped blocks, or if the next block would be too far behind, too.
func (g *Generator) freshen() {
	now := g.alloc.Delta(g.now())
	oldest := min(now-g.maxStale, g.alloc.MaxDelta())
	if g.maxStale < 0 || oldest < 1 {
		return
	}
	stale := g.compose(oldest, g.keeper.Latest().WorkerID) - 1
	if stale > g.cut.Load() { // else lanes would load the word from memory again
		g.cut.Store(stale)
	}
	if g.retire(stale) > 0 || g.lastSecond < oldest {
		g.jump(now)
	}
}

// jump moves lastSecond forward, never back.
func (g *Generator) jump(delta int64) {
	g.lastSecond = max(g.lastSecond, delta)
}

// retire drops the IDs of the ring up to last, and stores in goAt the sequence number at which
// takers go on.
func (g *Generator) retire(last int64) (n int) {
	next := g.ring.Peek()
	if n = g.ring.Retire(last); n > 0 {
		g.goAt = next & g.alloc.MaxSequence()
	}
	return n
}

// goOn makes the oldest block begin with the sequence number after the last one issued. If each
// block began with 0, nearly all IDs of a rarely used generator would be 0 modulo 16. Only the
// oldest block loses IDs by this.
func (g *Generator) goOn() {
	if next := g.ring.Peek(); next != 0 {
		g.ring.Retire(next&^g.alloc.MaxSequence() + g.goAt - 1)
		g.goAt = 0
	}
}

// compose returns the first ID of a unit.
func (g *Generator) compose(delta, workerID int64) int64 {
	id, err := g.alloc.Allocate(delta, g.cfg.DatacenterID, workerID, 0)
	if err != nil {
		panic(fmt.Sprintf("bug: cached: delta %d, worker ID %d: %v", delta, workerID, err))
	}
	return id
}
