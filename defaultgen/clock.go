package defaultgen

import (
	"math"
	"sync/atomic"
	"time"
)

// maxCarry bounds how long a reading of the wall clock is carried on, and so the delay until a step
// is noticed.
const maxCarry = time.Millisecond

// A clock reads the user's clock for every ID, or the system clock, which it carries on by the
// monotonic clock between readings. Under GoOn it never goes back: it returns at least the highest
// reading that keep has stored, carried on by the monotonic clock.
type clock struct {
	read    func() time.Time
	carried bool // read is the system's clock, which keeps the pace of the monotonic clock but for steps
	goOn    bool

	base    time.Time    // the first reading
	started time.Time    // the time of that reading, by the monotonic clock
	ahead   atomic.Int64 // how far the highest reading was from base plus the time elapsed, in ns
}

// A reading is a time returned by a clock.
type reading struct {
	time    time.Time
	elapsed time.Duration // since clock.started, just before the reading
	ahead   int64         // under GoOn: how far time is ahead of base plus the time elapsed, in ns
}

func (c *clock) start(read func() time.Time, carried, goOn bool) {
	c.read, c.carried, c.goOn = read, carried, goOn
	c.base, c.started = read(), time.Now() //mutate:swap no other goroutine has the clock yet
	c.ahead.Store(math.MinInt64)
}

// now reads the clock.
func (c *clock) now() reading {
	elapsed := time.Since(c.started)
	t := c.read()
	if !c.goOn { //mutate:false the other policy keeps no reading
		return reading{time: t, elapsed: elapsed}
	}
	steady := c.base.Add(time.Since(c.started))
	// Round strips the monotonic part: steps count. Sub saturates when t is over 292 years off.
	ahead := max(int64(t.Round(0).Sub(steady)), c.ahead.Load()) //mutate:number any Round drops the monotonic time
	return reading{steady.Add(time.Duration(ahead)), elapsed, ahead}
}

// until returns the time since clock.started up to which the reading r may be carried on, in a unit
// that ends at end. It returns 0 when each ID needs a reading of its own.
func (c *clock) until(r reading, end time.Time) int64 {
	if !c.carried {
		return 0
	}
	return int64(r.elapsed + min(maxCarry, end.Sub(r.time)))
}

// within reports whether the monotonic clock is before a result of until.
func (c *clock) within(until int64) bool {
	//mutate:operand,number 0 is never ahead: the comparison saves a reading
	return until != 0 && int64(time.Since(c.started)) < until
}

// keep makes the clock go on from a reading.
func (c *clock) keep(ahead int64) {
	for highest := c.ahead.Load(); ahead > highest; highest = c.ahead.Load() {
		c.ahead.CompareAndSwap(highest, ahead)
	}
}

// raise makes the clock go on from t.
func (c *clock) raise(t time.Time) { c.keep(int64(t.Sub(c.base.Add(time.Since(c.started))))) }
