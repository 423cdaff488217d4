package keeper

import "time"

// A Clock is a reading of the wall clock, carried on by the monotonic clock. Setting the wall clock
// later does not move it, and an injected Now need not have a monotonic reading.
type Clock struct{ wall, since time.Time }

func readClock(now func() time.Time) Clock { return Clock{now().Round(0), time.Now()} }

// Now returns the reading plus the time elapsed since.
func (c Clock) Now() time.Time { return c.wall.Add(time.Since(c.since)) }
