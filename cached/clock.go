package cached

import "time"

// now returns the time by the clock of the lease.
func (g *Generator) now() time.Time { return g.keeper.Latest().Clock.Now() }

// staleTick is how often the padding goroutine looks for stale blocks.
func staleTick(maxStaleness time.Duration) time.Duration { return maxStaleness / 4 }

// staleUnits is how many units behind the clock a block may lie when the padding goroutine looks at
// it, so that it is within maxStaleness until the next look: its unit may have just begun to be
// counted.
func staleUnits(maxStaleness, unit time.Duration) int64 {
	if maxStaleness < 0 {
		return -1
	}
	return max(0, int64((maxStaleness-staleTick(maxStaleness))/unit)-1)
}
