// Package throttle keeps repeated log records few.
package throttle

import (
	"sync/atomic"
	"time"
)

// An Episode is a time in which something happens again and again, without a pause of a minute. The
// log gets one record for it. Any number of goroutines may use it.
type Episode struct{ last atomic.Int64 } // Unix nanoseconds

// Begins notes that it has happened, and reports whether that is the first time of an episode.
func (e *Episode) Begins() bool {
	now := time.Now().UnixNano()
	last := e.last.Swap(now)
	return last == 0 || now-last > int64(time.Minute)
}
