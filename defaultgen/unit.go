package defaultgen

import (
	"sync/atomic"

	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
)

// A unit is one unit of time under one lease, and the IDs that are left of it.
//
// A take is one add to next. It gives each number up to last to one caller; an add beyond last
// finds no ID. The generator closes a unit before it stores the next one, and never reuses a unit.
// So a take from an old unit finds no ID, and all successful takes from a unit precede the takes
// from a later unit.
type unit struct {
	delta      int64
	base       int64 // the ID with sequence number 0
	start      int64 // the first sequence number
	last       int64 // the highest sequence number
	generation uint64
	// until is the reading of the monotonic clock from which on a take reads the wall clock first;
	// 0 with a clock of the user, since every take reads that.
	until atomic.Int64
	_     [16]byte

	next atomic.Int64 // the next sequence number; apart from the other fields, which all takes read
	_    [56]byte
}

// takeOne returns the next ID, or false when the unit is closed or used up. Most IDs take no more
// than this.
func (u *unit) takeOne() (id int64, ok bool) {
	x := u.next.Add(1) - 1
	return u.base + x, x <= u.last
}

// take returns up to n consecutive IDs, or none when the unit is closed or used up. An add is
// bounded: next cannot overflow unless millions of goroutines are within one at once.
func (u *unit) take(n int) (first int64, got int) {
	//mutate:number an add beyond last finds no ID
	return u.add(min(int64(n), 1<<40, max(u.last-u.next.Load()+1, 0)))
}

// add is the rest of take. Other callers may have used up the unit since take has looked.
func (u *unit) add(n int64) (first int64, got int) {
	sequence := u.next.Add(n) - n
	return u.base + sequence, int(max(min(n, u.last-sequence+1), 0))
}

// close makes all later takes fail. It returns the last sequence number taken, start - 1 if none
// was, or more than last if takes went beyond the unit.
func (u *unit) close() int64 { return u.next.Swap(u.last+1) - 1 } //mutate:number any number above last will do

// enter makes delta the current unit under grant and returns it, or nil when another unit or grant
// has become current since u and grant were loaded.
//
// The mutex excludes endUnit and deltas, which the keeper calls after it has changed the lease:
// they see the unit that was entered under the old lease, or enter sees the new lease.
func (g *Generator) enter(u *unit, grant *keeper.State, delta int64) *unit {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unit.Load() != u || g.keeper.Current() != grant {
		return nil
	}
	next := &unit{delta: delta, base: g.keeper.FirstID(delta, grant.WorkerID), generation: grant.Generation, last: g.alloc.MaxSequence()}
	//mutate:number half of a power of two is half of the number above it
	busy := u.close()-u.start >= (next.last+1)/2 && u.generation == grant.Generation // closing ends the unit of another lease
	if !busy {
		next.start = generator.Scatter(next.base, g.alloc.Layout().SequenceBits)
	}
	next.next.Store(next.start)
	g.unit.Store(next)
	return next
}

// endUnit closes the current unit: no ID is issued under its lease when it returns. It returns the
// highest delta of which an ID may have been issued.
func (g *Generator) endUnit() (issued int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.unit.Load()
	if u.close() < u.start {
		return max(u.delta-1, 0)
	}
	return u.delta
}

// deltas returns the delta of the current unit, and that or the delta of the clock if that is
// ahead.
func (g *Generator) deltas() (used, position int64) {
	now := g.alloc.Delta(g.keeper.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	used = g.unit.Load().delta
	return used, max(used, now)
}

// oldest moves an idle generator on to the unit before the clock's, and returns the delta of the
// unit. In the clock's own unit a next lease would have to wait for the end of the unit, and the
// units below First belong to earlier holders.
func (g *Generator) oldest() int64 {
	if u, grant := g.unit.Load(), g.keeper.Current(); grant != nil && grant.Fenced() {
		delta := g.alloc.Delta(g.now(grant).time) - 1
		//mutate:operator a unit earlier is as true
		if delta > u.delta && delta >= grant.First && delta <= min(grant.Last, g.alloc.MaxDelta()) {
			g.enter(u, grant, delta)
		}
	}
	return g.unit.Load().delta
}
