package cached

import "time"

// ID time counts up by one unit a block, and jumps when a worker ID is new or the generator was
// idle.

// now returns the time by the clock that belongs to the latest lease.
func (g *Generator) now() time.Time { return g.keeper.Latest().Clock.Now() }

// freshen drops the blocks that would exceed MaxStaleness before the next check, which comes after
// a quarter of it. It moves lastSecond up to the clock if it has dropped blocks, or if the next
// block would be too far behind, too.
func (g *Generator) freshen() {
	now, behind := g.now(), g.cfg.MaxStaleness-g.cfg.MaxStaleness/4
	oldest := min(g.alloc.Delta(now.Add(-behind))+1, g.alloc.MaxDelta())
	if behind < 0 || oldest < 1 {
		return
	}
	stale := g.keeper.FirstID(oldest, g.keeper.Latest().WorkerID) - 1
	if stale > g.cut.Load() { // else lanes would load the word from memory again
		g.cut.Store(stale)
	}
	if g.retire(stale) > 0 || g.lastSecond < oldest {
		g.lastSecond = max(g.lastSecond, g.alloc.Delta(now))
	}
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
