package assigner

import "time"

// An instant is a moment by the two clocks of this host. Each has its own weakness: the monotonic
// clock stands still while a machine is suspended, and the wall clock can be set back.
type instant struct {
	mono time.Duration
	wall time.Time
}

// hostClock returns a func that reads both clocks.
func hostClock() func() instant {
	start := time.Now()
	return func() instant {
		now := time.Now()
		return instant{mono: now.Sub(start), wall: now.Round(0)}
	}
}

// longest returns the time since an earlier instant by the clock that shows more.
func (i instant) longest(since instant) time.Duration {
	return max(i.mono-since.mono, i.wall.Sub(since.wall))
}

// shortest returns the time since an earlier instant by the clock that shows less.
func (i instant) shortest(since instant) time.Duration {
	return min(i.mono-since.mono, i.wall.Sub(since.wall))
}
