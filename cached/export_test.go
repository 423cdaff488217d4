package cached

import "testing/synctest"

// LockPadding keeps blocks from being put and retired until unlock is called.
func (g *Generator) LockPadding() (unlock func()) {
	g.running.Lock()
	return g.running.Unlock
}

// BeginBlock is the beginning of a take that finds a block used up, and is then held up before it
// wakes the padding goroutine. That goroutine is waiting.
func (g *Generator) BeginBlock() {
	synctest.Wait()
	wake := g.wake
	g.wake = make(chan struct{}, 1)
	g.ring.Peek()
	g.wake = wake
}

// Refill is the rest of a Next that stalled after it had found the ring empty.
func (g *Generator) Refill() error { return g.pad(true) }

// Used returns the delta of the newest block as the keeper of the worker ID learns it.
func (g *Generator) Used() int64 {
	used, _ := g.deltas()
	return used
}
