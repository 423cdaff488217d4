package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
)

// heartbeat is the time between the beginnings of two renewals, each bounded by renewTimeout and by
// AssignTimeout. So a renewal ends within a minute of the beginning of the last, as leases are
// promised.
const (
	heartbeat    = 45 * time.Second
	renewTimeout = time.Minute - heartbeat
)

// outage is the trouble of a store that fails.
const outage = "outage"

func (k *Keeper) run(ctx context.Context) {
	timer := time.NewTimer(k.untilRenewal())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.poke:
			if !k.heeds() {
				continue
			}
		case <-timer.C:
		}
		timer.Reset(k.step(ctx))
	}
}

// heeds reports whether a wake-up is reason for a step. The pause after a failure is not cut short.
func (k *Keeper) heeds() bool {
	if k.delay > 0 {
		return false
	}
	h := k.current.Load()
	return h == nil || h.lost || h.Limit < k.want.Load()
}

// step renews the lease, or takes one where there is none, and returns how long to wait for the
// next step.
func (k *Keeper) step(ctx context.Context) time.Duration {
	started := time.Now()
	h := k.current.Load()
	count := k.invalidations() // after h: a call of Invalidate that has cleared it has also ended it by then
	renewing := h != nil && !h.lost
	var err error
	if renewing {
		err = k.renew(ctx, h)
	} else {
		k.registration.End(k.cfg.Used())
		err = k.assign(ctx, count)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		k.succeeded(renewing)
		return k.untilRenewal() - time.Since(started) // a slow renewal does not delay the next
	case errors.Is(err, errInvalidated), renewing && errors.Is(err, assigner.ErrWorkerRowLost):
		return 0
	}
	k.trouble.Store(&err)
	if pause, ok := k.pause(err); ok && !renewing {
		k.logWait(err)
		k.delay = pause
	} else {
		k.failed(err)
	}
	return k.delay
}

// succeeded ends all trouble. Only the end of an outage is reported: a worker ID that ends a wait
// has been reported as assigned.
func (k *Keeper) succeeded(kept bool) {
	k.trouble.Store(nil)
	if k.reported == outage {
		worker := k.latest.Load().WorkerID
		k.cfg.Logger.Info("worker ID: the store answers again", "worker", worker)
		if kept && k.cfg.Trace.Kept != nil {
			Call(k.cfg.Logger, "Trace.LeaseKept", func() { k.cfg.Trace.Kept(worker) })
		}
	}
	k.delay, k.reported = 0, ""
}

func (k *Keeper) failed(err error) {
	k.failures.Add(1)
	if k.reports(outage) {
		k.cfg.Logger.Warn("worker ID: call to the store failed", "worker", k.latest.Load().WorkerID, "error", err)
	}
	if k.cfg.Trace.RenewFailed != nil {
		Call(k.cfg.Logger, "Trace.RenewFailed", func() { k.cfg.Trace.RenewFailed(err) })
	}
	k.delay = nextDelay(k.delay)
}

// reports notes what the trouble is, and returns whether that is new.
func (k *Keeper) reports(trouble string) bool {
	if k.reported == trouble {
		return false
	}
	k.reported = trouble
	return true
}

// untilRenewal returns how long to wait before the next renewal: as long as the lease may do
// without one, or half of the time that the clock takes to come to the limit. A generator that uses
// deltas faster than the clock asks for more by itself.
func (k *Keeper) untilRenewal() time.Duration {
	longest := heartbeat
	if l, ok := k.lease.(assigner.Expiring); ok {
		longest = max(min(longest, l.RenewWithin()), shortestPause)
	}
	h := k.current.Load()
	if h == nil || !h.Fenced() {
		return longest
	}
	unit := k.cfg.Domain.Layout.Unit
	left := h.Limit - k.cfg.Position(h)
	switch {
	case left <= 0 && h.Guarantee == assigner.GuaranteeLossy: // its fences follow its clock
		return min(longest, time.Second)
	case left <= 0 || left >= int64(2*longest/unit): // a store that gives no more is asked again when it is needed
		return longest
	}
	return max(time.Duration(left)*unit/2, shortestPause)
}
