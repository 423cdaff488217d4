package defaultgen

import (
	"math"
	"sync/atomic"
	"time"
)

// A clock is the user's, or, under GoOn, one that never goes back: the highest reading that was
// kept, carried on by the monotonic clock.
type clock struct {
	read  func() time.Time
	carry bool

	base    time.Time    // the first reading, without its monotonic part
	started time.Time    // when it was made, by the monotonic clock
	ahead   atomic.Int64 // how far the highest reading was from base plus the time elapsed, in ns
}

func startClock(read func() time.Time, carry bool) *clock {
	c := &clock{read: read, carry: carry, base: read().Round(0), started: time.Now()}
	c.ahead.Store(math.MinInt64)
	return c
}

// now returns the time, and under GoOn how far that is ahead of base plus the time elapsed.
func (c *clock) now() (t time.Time, ahead int64) {
	t = c.read()
	if !c.carry {
		return t, 0
	}
	steady := c.base.Add(time.Since(c.started))
	ahead = max(int64(t.Round(0).Sub(steady)), c.ahead.Load()) // the furthest that a Duration reaches, when t is further off
	return steady.Add(time.Duration(ahead)), ahead
}

// keep has the clock go on from a reading.
func (c *clock) keep(ahead int64) {
	for highest := c.ahead.Load(); ahead > highest; highest = c.ahead.Load() {
		if c.ahead.CompareAndSwap(highest, ahead) {
			return
		}
	}
}

// raise has the clock go on from t.
func (c *clock) raise(t time.Time) { c.keep(int64(t.Sub(c.base.Add(time.Since(c.started))))) }
