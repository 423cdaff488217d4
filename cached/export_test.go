package cached

import "time"

// StaleUnits is how far behind the clock a block may be.
func StaleUnits(maxStaleness, unit time.Duration) int64 { return staleUnits(maxStaleness, unit) }

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
