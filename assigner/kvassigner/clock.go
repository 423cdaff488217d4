package kvassigner

import (
	"context"
	"crypto/rand"
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

// A reading is the store's clock at one moment.
type reading struct {
	store    time.Time
	host     time.Time // when the store's answer was here
	timeless bool      // the store does not report its clock
}

// old compares wall times: a host that slept may have the same monotonic time.
func (r reading) old() bool {
	//mutate:argument,number tests cannot step the clock; any Round drops the monotonic time
	return time.Now().Round(0).Sub(r.host.Round(0)).Abs() >= clockAge
}

// now returns the present time by the store's clock, and whether that is this host's clock. The
// time is never ahead of the store's clock, which may count in whole seconds.
func (l *leases) now(ctx context.Context) (time.Time, bool, error) {
	r := l.clock.Load()
	if r == nil || r.old() {
		if _, err := l.Status(ctx); err != nil {
			return time.Time{}, false, err
		}
		r = l.clock.Load()
	}
	return r.store.Add(time.Since(r.host)).Truncate(time.Second), r.timeless, nil
}

// startWrite returns the present time by the store's clock. On a store without one it records the
// time of this host, so that a host whose clock is behind gets [leasestore.ErrClockSkew].
func (l *leases) startWrite(ctx context.Context) (time.Time, error) {
	now, timeless, err := l.now(ctx)
	if timeless {
		err = l.see(ctx)
	}
	return now, err
}

// see sets the stored time of the last write to the present, unless it is about that already. It
// also lowers a time that is ahead of this host's clock, or one wrong clock would stop the
// namespace for good. It leaves the time alone if another process has just written its own.
func (l *leases) see(ctx context.Context) error {
	stored, revision, err := get[time.Time](ctx, l, l.seenKey())
	if err != nil || time.Since(stored.Value).Abs() < seenStep {
		return err
	}
	_, err = put(ctx, l, l.seenKey(), record[time.Time]{format, rand.Text(), time.Now()}, revision)
	return err
}
