package defaultgen

import (
	"sync/atomic"
	"time"
)

// A clock is the user's, or, under GoOn, one that never goes back: the highest reading of the user's clock,
// carried on by the monotonic clock.
type clock struct {
	read  func() time.Time
	carry bool

	base    time.Time    // the first reading, without its monotonic part
	started time.Time    // when it was made, by the monotonic clock
	ahead   atomic.Int64 // how far the highest reading was from base plus the time elapsed, in ns
}

func startClock(read func() time.Time, carry bool) *clock {
	return &clock{read: read, carry: carry, base: read().Round(0), started: time.Now()}
}

func (c *clock) now() time.Time {
	t := c.read()
	if !c.carry {
		return t
	}
	return c.raise(t)
}

// raise moves the clock up to t, unless it is there already, and returns where it is.
func (c *clock) raise(t time.Time) time.Time {
	steady := c.base.Add(time.Since(c.started))
	ahead := int64(t.Round(0).Sub(steady)) // the furthest that a Duration reaches, when t is further off
	for highest := c.ahead.Load(); ; highest = c.ahead.Load() {
		if ahead <= highest {
			return steady.Add(time.Duration(highest))
		}
		if c.ahead.CompareAndSwap(highest, ahead) {
			return steady.Add(time.Duration(ahead))
		}
	}
}
