package assigner

import "time"

// An instant is a moment by the two clocks of this host. Each has its own weakness: the monotonic
// clock stands still while a machine is suspended, and the wall clock can be set back.
type instant struct{ mono, wall time.Time }

func hostClock() instant {
	now := time.Now()
	return instant{mono: now, wall: now.Round(0)} //mutate:number any Round drops the monotonic time
}

// longest returns the time since an earlier instant by the clock that shows more.
func (i instant) longest(since instant) time.Duration {
	return max(i.mono.Sub(since.mono), i.wall.Sub(since.wall))
}
