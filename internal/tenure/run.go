package tenure

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

func (t *Tenure) run(ctx context.Context) {
	timer := time.NewTimer(t.untilRenewal())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.poke:
			if !t.heeds() {
				continue
			}
		case <-timer.C:
		}
		timer.Reset(t.step(ctx))
	}
}

// heeds reports whether a wake-up is reason for a step. The pause after a failure is not cut short.
func (t *Tenure) heeds() bool {
	if t.delay > 0 {
		return false
	}
	h := t.current.Load()
	return h == nil || h.lost || h.Limit < t.want.Load()
}

// step renews the lease, or takes one where there is none, and returns how long to wait for the
// next step.
func (t *Tenure) step(ctx context.Context) time.Duration {
	started := time.Now()
	h := t.current.Load()
	count := t.invalidations() // after h: a call of Invalidate that has cleared it has also ended it by then
	renewing := h != nil && !h.lost
	var err error
	if renewing {
		err = t.renew(ctx, h)
	} else {
		t.hold.End(t.cfg.Used())
		err = t.assign(ctx, count)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		t.succeeded(renewing)
		return t.untilRenewal() - time.Since(started) // a slow renewal does not delay the next
	case errors.Is(err, errInvalidated), renewing && errors.Is(err, assigner.ErrWorkerRowLost):
		return 0
	}
	t.trouble.Store(&err)
	if pause, ok := t.pause(err); ok && !renewing {
		t.logWait(err)
		t.delay = pause
	} else {
		t.failed(err)
	}
	return t.delay
}

// succeeded ends all trouble. Only the end of an outage is reported: a worker ID that ends a wait
// has been reported as assigned.
func (t *Tenure) succeeded(kept bool) {
	t.trouble.Store(nil)
	if t.reported == outage {
		worker := t.latest.Load().WorkerID
		t.cfg.Logger.Info("worker ID: the store answers again", "worker", worker)
		if kept && t.cfg.Trace.Kept != nil {
			Call(t.cfg.Logger, "Trace.LeaseKept", func() { t.cfg.Trace.Kept(worker) })
		}
	}
	t.delay, t.reported = 0, ""
}

func (t *Tenure) failed(err error) {
	t.failures.Add(1)
	if t.reports(outage) {
		t.cfg.Logger.Warn("worker ID: call to the store failed", "worker", t.latest.Load().WorkerID, "error", err)
	}
	if t.cfg.Trace.RenewFailed != nil {
		Call(t.cfg.Logger, "Trace.RenewFailed", func() { t.cfg.Trace.RenewFailed(err) })
	}
	t.delay = nextDelay(t.delay)
}

// reports notes what the trouble is, and returns whether that is new.
func (t *Tenure) reports(trouble string) bool {
	if t.reported == trouble {
		return false
	}
	t.reported = trouble
	return true
}

// untilRenewal returns how long to wait before the next renewal: as long as the lease may do
// without one, or half of the time that the clock takes to come to the limit. A generator that uses
// deltas faster than the clock asks for more by itself.
func (t *Tenure) untilRenewal() time.Duration {
	longest := heartbeat
	if l, ok := t.lease.(assigner.Expiring); ok {
		longest = max(min(longest, l.RenewWithin()), shortestPause)
	}
	h := t.current.Load()
	if h == nil || !h.Fenced() {
		return longest
	}
	unit := t.cfg.Domain.Layout.Unit
	left := h.Limit - t.cfg.Position(h)
	switch {
	case left <= 0 && h.Guarantee == assigner.GuaranteeLossy: // its fences follow its clock
		return min(longest, time.Second)
	case left <= 0 || left >= int64(2*longest/unit): // a store that gives no more is asked again when it is needed
		return longest
	}
	return max(time.Duration(left)*unit/2, shortestPause)
}
