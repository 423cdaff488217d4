package uidringtest

import (
	"sync"
	"time"
)

// A Clock is a clock that stands still until a test moves it. Its method Now fits the field Now of
// a Config. Any number of goroutines may use it at once. Make one with [NewClock].
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock that shows a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on, or back if d is below 0.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
