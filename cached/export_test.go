package cached

import "time"

// The steps at which Pause calls f.
const (
	LaneTakes        = int(laneTakes)
	LaneHasTaken     = int(laneHasTaken)
	LaneHasPublished = int(laneHasPublished)
	LaneIsCounted    = int(laneIsCounted)
)

// Pause has each lane call f in the middle of its next refills, and Stats at each lane.
func (g *Generator) Pause(f func(step int)) { g.pause = func(s step) { f(int(s)) } }

// FinishNext is the rest of a Next that stalled after it had compared with the limit.
func (l *Lane) FinishNext() { l.last.set(l.last.get() + 1) }

// Change begins a change of several words of the lane. The returned func ends it.
func (l *Lane) Change() (end func()) {
	l.changing()
	return l.changing
}

// StaleUnits is how far behind the clock a block may be.
func StaleUnits(maxStaleness, unit time.Duration) int64 { return staleUnits(maxStaleness, unit) }

// LockLanes keeps retirement from visiting lanes until unlock is called.
func (g *Generator) LockLanes() (unlock func()) {
	g.handles.mu.Lock()
	return g.handles.mu.Unlock
}

// LockPadding keeps blocks from being put and retired until unlock is called.
func (g *Generator) LockPadding() (unlock func()) {
	g.running.Lock()
	return g.running.Unlock
}

// PaddingLocked reports whether a padding pass is in progress.
func (g *Generator) PaddingLocked() bool {
	if g.running.TryLock() {
		g.running.Unlock()
		return false
	}
	return true
}

// BeginBlock is the beginning of a take that finds a block used up, and is then held up before it
// wakes the padding goroutine.
func (g *Generator) BeginBlock() { g.ring.Peek() }

// PadInline is the rest of a Next that stalled after it had found the ring empty.
func (g *Generator) PadInline() error { return g.padInline() }

// Used returns the delta of the newest block as the keeper of the worker ID learns it.
func (g *Generator) Used() int64 { return g.used() }

// Handles returns the number of lanes that have not been closed.
func (g *Generator) Handles() int { return len(g.handles.lanes) }

// Cut returns the last ID that has been retired as far as lanes are concerned.
func (g *Generator) Cut() uint64 { return g.cut.Load() }
