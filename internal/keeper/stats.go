package keeper

import (
	"errors"
	"time"

	"github.com/uidring/uidring/internal/generator"
)

// Window returns the ID time between the generator's position and the limit of the current lease,
// and the real time that it lasts at the present pace. Both are 0 without a fence, at the limit, and
// when no worker ID is held.
func (k *Keeper) Window() (left, lasts time.Duration) {
	grant := k.current.Load()
	if grant == nil || !grant.Fenced() {
		return 0, 0
	}
	_, position := k.hooks.Deltas()
	position = min(position, grant.Limit)
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
		k.Rejections.Add(1)
		generator.Report(k.Logger, "TakeRejected", k.Trace.TakeRejected, err)
	}
	return err
}
