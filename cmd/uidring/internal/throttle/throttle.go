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

// A Tally counts something for log records of at most one a minute. Any number of goroutines may
// use it.
type Tally struct{ count, last atomic.Int64 }

// Add counts once. It returns the number since the last record if a record is due, and else 0.
func (t *Tally) Add() int64 {
	t.count.Add(1)
	now := time.Now().UnixNano()
	last := t.last.Load()
	if last != 0 && now-last < int64(time.Minute) || !t.last.CompareAndSwap(last, now) {
		return 0
	}
	return t.count.Swap(0)
}
