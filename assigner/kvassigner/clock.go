package kvassigner

import (
	"context"
	"sync"
	"time"
)

const (
	// clockAge is how long a reading of the store's clock is good for the expiry of rows. Claims
	// and renewals read the status just before they write.
	clockAge = 10 * time.Second
	// seenStep is how far the time of the last write may lie behind. Without it, every renewal in
	// the namespace would write the same key.
	seenStep = time.Second / 2
)

// A clock is the last reading of the store's clock.
type clock struct {
	mu       sync.Mutex
	store    time.Time
	host     time.Time // when the store's answer was here
	timeless bool      // the store does not report its clock
}

func (c *clock) set(now time.Time, timeless bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store, c.host, c.timeless = now, time.Now(), timeless
}

// read returns the present time by the store's clock, and false when the last reading is too old.
// The time is never ahead of the store's clock, which may count in whole seconds.
func (c *clock) read() (now time.Time, timeless, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	host := time.Now()
	since := host.Sub(c.host)
	// A host that slept has another wall time, and perhaps the same monotonic time.
	ok = since < clockAge && host.Round(0).Sub(c.host.Round(0)).Abs() < clockAge
	return c.store.Add(since).Truncate(time.Second), c.timeless, ok
}

// now returns the present time by the store's clock, and whether that is this host's clock.
func (l *leases) now(ctx context.Context) (time.Time, bool, error) {
	if now, timeless, ok := l.clock.read(); ok {
		return now, timeless, nil
	}
	if _, err := l.Status(ctx); err != nil {
		return time.Time{}, false, err
	}
	now, timeless, _ := l.clock.read()
	return now, timeless, nil
}

// startWrite returns the present time by the store's clock. On a store without one it records the
// time of this host, so that a host whose clock is behind gets [leasestore.ErrClockSkew].
func (l *leases) startWrite(ctx context.Context) (time.Time, error) {
	if l.err != nil {
		return time.Time{}, l.err
	}
	now, timeless, err := l.now(ctx)
	for done := !timeless; err == nil && !done; {
		done, err = l.see(ctx)
	}
	return now, err
}

// see reports whether the stored time of the last write is about the present. It also lowers a time
// that is ahead of this host's clock, or one wrong clock would stop the namespace for good.
func (l *leases) see(ctx context.Context) (bool, error) {
	stored, revision, err := get[time.Time](ctx, l, l.seenKey())
	if err != nil {
		return false, err
	}
	now := time.Now()
	if now.Sub(stored.Value).Abs() < seenStep {
		return true, nil
	}
	return put(ctx, l, l.seenKey(), newRecord(now.UTC()), revision)
}
