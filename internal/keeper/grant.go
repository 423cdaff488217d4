package keeper

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// A Grant is the range of deltas that the generator may use at present, with the state that padding
// needs. It is immutable.
type Grant struct {
	assigner.Grant
	Generation uint64 // number of the lease; a renewal keeps it
	Clock      Clock  // goes on from the reading of Assign, or from an earlier lease's if that is ahead
	Delta      int64  // of the reading of Assign, even if Clock is ahead of it
	Half       int64  // on using this delta the generator calls Extend, long before Last

	at       time.Time // time of the last call of grow, with position; pace measures from there
	position int64
	rate     float64 // ID time per real time before at, at least 1
	lost     bool    // the lease has ended, and the grant may be used up
}

// Reused reports whether an earlier process may have used the worker ID without a fence.
func (g *Grant) Reused() bool { return g.Reusable && !g.Fenced() }

// A Clock is a reading of the wall clock, carried on by the monotonic clock. Setting the wall clock
// later does not move it, and an injected Now need not have a monotonic reading.
type Clock struct{ wall, since time.Time }

// Now returns the reading plus the time elapsed since.
func (c Clock) Now() time.Time { return c.wall.Add(time.Since(c.since)) }

// grow moves the limit, and puts Half between it and position. Without a fence no delta reaches
// Half.
func (g *Grant) grow(position, limit int64, unit time.Duration) {
	g.rate = g.pace(position, unit)
	g.at, g.position, g.Last = time.Now(), position, limit
	g.Half = position + (limit-position)/2 + (limit-position)%2
}

// pace returns the ID time per real time since the last call of grow, or before it if that was less
// than a second ago.
func (g *Grant) pace(position int64, unit time.Duration) float64 {
	elapsed := time.Since(g.at)
	if elapsed < time.Second {
		return max(g.rate, 1)
	}
	return max(float64(position-g.position)*float64(unit)/float64(elapsed), 1)
}
