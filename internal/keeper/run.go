package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/generator"
)

// heartbeat is the time between the beginnings of two renewals, each bounded by renewTimeout and by
// AssignTimeout. So a renewal ends within a minute of the beginning of the last, as package
// assigner promises to leases.
const (
	heartbeat    = 45 * time.Second
	renewTimeout = time.Minute - heartbeat
)

// outage is the value of reported while calls to the store fail.
const outage = "outage"

func (k *Keeper) run(ctx context.Context) {
	timer := time.NewTimer(k.untilRenewal())
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			grant := k.current.Load()
			if k.delay > 0 || grant != nil && (k.refused > 0 || grant.Last >= k.want.Load()) {
				continue // nothing to do, or a backoff, which a wake-up does not cut short
			}
		case <-timer.C:
		}
		timer.Reset(k.step(ctx))
	}
}

// step renews the lease, or takes one if none is held, and returns the time to wait before the next
// step.
func (k *Keeper) step(ctx context.Context) time.Duration {
	started := time.Now()
	k.ending.Lock() // a call of Invalidate that has cleared the lease has also called Ended by then
	grant, count := k.current.Load(), k.invalidated
	k.ending.Unlock()
	renewing := grant != nil && !grant.lost
	var err error
	if renewing {
		err = k.renew(ctx, grant)
	} else {
		used, _ := k.hooks.Deltas()
		k.registration.End(used)
		err = k.assign(ctx, count)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		k.succeeded(renewing)
		next := max(k.untilRenewal()-time.Since(started), shortestPause) // a slow renewal hardly delays the next
		if k.refused > 0 {
			next = min(next, k.refused)
		}
		return next
	case errors.Is(err, errInvalidated), renewing && errors.Is(err, assigner.ErrWorkerRowLost):
		return 0
	}
	k.lastErr.Store(&err)
	if p, ok := errors.AsType[passing](err); ok && !renewing {
		k.delay = k.pause(p, err)
	} else {
		k.failed(err)
	}
	k.logShortage(err)
	return k.delay
}

// succeeded resets the failure state. It reports only the end of an outage: assign has already
// reported a worker ID that ends a wait.
func (k *Keeper) succeeded(kept bool) {
	k.lastErr.Store(nil)
	if k.reported == outage {
		grant := k.latest.Load().Grant
		k.Logger.Info("worker ID: the store answers again", "worker", grant.WorkerID)
		if kept {
			generator.Report(k.Logger, "LeaseKept", k.Trace.LeaseKept, assigner.LeaseInfo{Grant: grant})
		}
	}
	k.delay, k.reported, k.short = 0, "", false
}

func (k *Keeper) failed(err error) {
	k.Failures.Add(1)
	if k.reported != outage {
		k.reported = outage
		grant := k.latest.Load()
		record := []any{"worker", grant.WorkerID, "error", err}
		if grant.Fenced() {
			_, lasts := k.Window()
			record = append(record, "ids_for", lasts.Truncate(time.Second).String(), "ids_until", time.Now().Add(lasts).UTC().Format(time.RFC3339))
		}
		k.Logger.Warn("worker ID: call to the store failed", record...)
	}
	generator.Report(k.Logger, "RenewFailed", k.Trace.RenewFailed, assigner.LeaseInfo{Grant: k.latest.Load().Grant, Err: err})
	k.delay = nextDelay(k.delay)
}

// logShortage reports, once in an outage, that no grant covers the present.
func (k *Keeper) logShortage(err error) {
	grant := k.current.Load()
	if _, position := k.hooks.Deltas(); k.short || grant != nil && position < grant.Last {
		return
	}
	k.short = true
	k.Logger.Error("worker ID: callers get no IDs", "worker", k.latest.Load().WorkerID, "calls", "Next returns ErrLeaseExhausted, NextContext waits",
		"remedy", "bring the store back; do not restart processes, since a start needs the store", "error", err)
}

// untilRenewal returns the time to wait before the next renewal: the longest time that the lease
// allows, or half of the time that the clock takes to reach the limit if that is shorter. A
// generator that uses deltas faster than the clock calls Extend.
func (k *Keeper) untilRenewal() time.Duration {
	grant, longest := k.current.Load(), heartbeat
	if grant != nil && grant.RenewWithin > 0 {
		longest = max(min(longest, grant.RenewWithin), shortestPause)
	}
	if grant == nil || !grant.Fenced() {
		return longest
	}
	unit := k.Alloc.Layout().Unit
	_, position := k.hooks.Deltas()
	left := grant.Last - position
	if left > 0 && grant.Guarantee != assigner.GuaranteeLossy { // the clock uses up nothing of a grant that is ahead of it
		left = grant.Last - min(position, k.Alloc.Delta(grant.Clock.Now()))
	}
	switch {
	case left <= 0 && grant.Guarantee == assigner.GuaranteeLossy: // its fences follow its clock
		return min(longest, time.Second)
	case left <= 0 || left >= int64(2*longest/unit): // if the store grants no more, the generator calls Extend when it needs more
		return longest
	}
	return max(time.Duration(left)*unit/2, shortestPause)
}
