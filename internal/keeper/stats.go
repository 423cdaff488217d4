package keeper

import (
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/generator"
)

// Stats is the part of a generator's Stats that generators with a worker ID share.
type Stats struct {
	WorkerID     int64
	DatacenterID int64
	Guarantee    assigner.Guarantee
	Limit        int64
	Window       time.Duration
	WindowLasts  time.Duration

	RejectedTakes int64
	Renewals      int64
	RenewFailures int64

	LastDelta int64
	Ahead     time.Duration
	Expires   time.Time
}

// Stats returns a snapshot. last is the highest delta used, now a reading of the user's clock.
func (k *Keeper) Stats(last int64, now time.Time) Stats {
	grant := k.latest.Load()
	position := max(last, k.Alloc.Delta(now)) // an idle generator goes on from the clock
	window, lasts := k.Window(position)
	return Stats{
		WorkerID:      grant.WorkerID,
		DatacenterID:  k.DatacenterID,
		Guarantee:     grant.Guarantee,
		Limit:         grant.Limit,
		Window:        window,
		WindowLasts:   lasts,
		RejectedTakes: k.rejected.Load(),
		Renewals:      k.renewals.Load(),
		RenewFailures: k.failures.Load(),
		LastDelta:     last,
		Ahead:         k.Alloc.Time(last).Sub(now),
		Expires:       k.Alloc.Expires(),
	}
}

// Window returns the ID time between position and the limit of the current lease, and the real time
// that it lasts at the present pace. Both are 0 without a fence, at the limit, and when no worker
// ID is held.
func (k *Keeper) Window(position int64) (left, lasts time.Duration) {
	grant := k.current.Load()
	if grant == nil || !grant.Fenced() || grant.Limit <= position {
		return 0, 0
	}
	left = k.Alloc.Time(grant.Limit).Sub(k.Alloc.Time(position))
	if pace := grant.pace(position, k.Alloc.Layout().Unit); pace > 1 { // else a division could round beyond the longest Duration
		return left, time.Duration(float64(left) / pace)
	}
	return left, left
}

// AnnounceEnd warns, once, when delta is within the last year of the layout.
func (k *Keeper) AnnounceEnd(delta int64) {
	if delta < k.warnFrom || k.warned.Load() || k.warned.Swap(true) {
		return
	}
	k.Logger.Warn("the delta field is used up within a year", "expires", k.Alloc.Expires(), "layout", k.Alloc.Layout().String())
}

// Rejected counts and traces an error, unless it is ErrClosed, before a method of the generator
// returns it.
func (k *Keeper) Rejected(err error) error {
	if err != nil && !errors.Is(err, k.Errors.Closed) {
		k.rejected.Add(1)
		generator.Report(k.Logger, "TakeRejected", k.Trace.TakeRejected, err)
	}
	return err
}
