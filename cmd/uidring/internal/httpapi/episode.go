package httpapi

import (
	"sync/atomic"
	"time"
)

// An episode is a time in which something happens again and again, without a pause of a minute. The
// log gets one record for it. Any number of goroutines may use it.
type episode struct{ last atomic.Int64 } // Unix nanoseconds

// begins notes that it has happened, and reports whether that is the first time of an episode.
func (e *episode) begins() bool {
	now := time.Now().UnixNano()
	last := e.last.Swap(now)
	return last == 0 || now-last > int64(time.Minute)
}
