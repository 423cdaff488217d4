package cached

import "time"

// A clock is the wall clock as it stood once, carried on by the monotonic clock: a wall clock that is
// stepped later does not move it, and an injected Now need not have a monotonic reading.
type clock struct{ wall, since time.Time }

func startClock(now time.Time) clock { return clock{now.Round(0), time.Now()} }

func (c clock) now() time.Time { return c.wall.Add(time.Since(c.since)) }

// staleTick is how often the padding goroutine looks for stale runs.
func staleTick(maxStaleness time.Duration) time.Duration { return maxStaleness / 4 }

// staleUnits is how many units behind the clock a run may lie when the padding goroutine looks at it,
// so that it is within maxStaleness until the next look: its unit may have just begun to be counted.
func staleUnits(maxStaleness, unit time.Duration) int64 {
	if maxStaleness < 0 {
		return -1
	}
	return max(0, int64((maxStaleness-staleTick(maxStaleness))/unit)-1)
}
