package cached

import "time"

// now returns the time by the clock that belongs to the latest lease.
func (g *Generator) now() time.Time { return g.keeper.Latest().Clock.Now() }

// staleTick returns the interval at which the padding goroutine looks for stale blocks.
func staleTick(maxStaleness time.Duration) time.Duration { return maxStaleness / 4 }

// staleUnits returns the number of units that a block may be behind the clock when the padding
// goroutine checks it. A block within that number stays within maxStaleness until the next check.
// One more unit is subtracted because the fractions of units are not counted.
func staleUnits(maxStaleness, unit time.Duration) int64 {
	if maxStaleness < 0 {
		return -1
	}
	return max(0, int64((maxStaleness-staleTick(maxStaleness))/unit)-1)
}
