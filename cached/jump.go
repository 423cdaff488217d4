package cached

import (
	"time"

	"github.com/uidring/uidring/internal/generator"
)

// ID time counts up by one unit a block, and jumps when a worker ID is new or the generator was
// idle.

// now returns the time by the clock that belongs to the latest lease.
func (g *Generator) now() time.Time { return g.keeper.Latest().Clock.Now() }

// freshen drops the blocks that would exceed MaxStaleness before the next check, which comes after
// a quarter of it. It moves lastSecond up to the clock if it has dropped blocks, or if the next
// block would be too far behind, too.
func (g *Generator) freshen() {
	now, behind := g.now(), g.cfg.MaxStaleness-g.cfg.MaxStaleness/4
	if behind < 0 { //mutate:number,operator it is more than a unit otherwise
		return
	}
	stale := g.alloc.MaxAt(now.Add(-behind))
	//mutate:operator on equality the word keeps its value, and lanes load it from memory again
	if stale > g.cut.Load() { // cut only grows: after Invalidate it is above stale
		g.cut.Store(stale)
	}
	if g.ring.Retire(stale) > 0 || g.lastSecond <= g.deltaOf(stale) { //mutate:number the jump comes at the next check
		g.lastSecond, g.paused = max(g.lastSecond, min(g.alloc.Delta(now), g.alloc.MaxDelta())), true
	}
}

// scatter makes the oldest block begin at a scattered sequence number after a pause; see
// generator.Scatter. Only the oldest block loses IDs by this.
func (g *Generator) scatter() {
	next := g.ring.Peek()
	if next == 0 || !g.paused {
		return
	}
	g.paused = false
	first := next &^ g.alloc.MaxSequence()
	start := generator.Scatter(first, g.alloc.Layout().SequenceBits)
	//mutate:true no test takes an ID between Put and this
	if int64(g.ring.Retire(first+start-1)) == start { // else takers have IDs of the block
		g.begin = first + start
	}
}
