package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
)

// shortestPause is the least time between two calls to the store, except for calls that the
// generator requests.
const shortestPause = 100 * time.Millisecond

// slowStart is the time after which a start without an answer of the store is logged.
const slowStart = time.Second

// nextDelay returns the next delay of an exponential backoff with jitter, from about shortestPause
// to about 10 s, or to within if that is shorter and not 0.
func nextDelay(last, within time.Duration) time.Duration {
	next := max(min(2*last, cmp.Or(within, time.Minute), 10*time.Second), shortestPause)
	//mutate:number tuning of the backoff
	return next/2 + rand.N(next/2)
}

// StartContext returns the context of a start that StartTimeout bounds.
func StartContext(timeout time.Duration, layout bitsalloc.Layout) (context.Context, context.CancelFunc) {
	return generator.StartContext(cmp.Or(timeout, max(30*time.Second, 2*layout.Unit)))
}

// first takes the first lease. Until ctx ends, it calls Assign again after an error that says when
// to retry, and when the store does not answer.
func (k *Keeper) first(ctx context.Context) error {
	failure := errors.New("the store has not answered yet")
	//mutate:swap no call of the store has begun
	ctx = storecall.OnFailure(ctx, func(err error) { k.lastErr.Store(&err) }) // of a try that the store repeats
	// lastErr is nil until a call fails. The timer may also run while the answer comes.
	slow := time.AfterFunc(slowStart, func() { k.Logger.Warn("waiting for a worker ID", "error", *cmp.Or(k.lastErr.Load(), &failure)) })
	last := failure // before the last wait; a call that ctx has ended may not mention it
	for {
		err := k.claim(ctx, k.Latest())
		slow.Stop()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			switch {
			case err == ctx.Err(), err.Error() == last.Error(): // its text would come twice
				err = last
			case last != failure:
				err = fmt.Errorf("%w; before that: %w", err, last)
			}
			after, _ := uidring.RetryAfter(err) // the store may answer the next start
			return fmt.Errorf("%w: %w", generator.Late(ctx), generator.Detach(generator.Passing{Err: err, After: cmp.Or(after, time.Second)}))
		}
		wait, passes := k.retry(err)
		switch {
		case !passes:
			return generator.Detach(err)
		case tooLong(ctx, wait):
			after, _ := uidring.RetryAfter(err)
			err = generator.Passing{Err: fmt.Errorf("%w; the next try would be in %v", err, wait.Round(time.Second)), After: cmp.Or(after, time.Second)}
			return fmt.Errorf("%w: %w", generator.Late(ctx), generator.Detach(err))
		}
		last = err
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// retry returns the time after which Start repeats a call that failed, and false for an error that
// stays.
func (k *Keeper) retry(err error) (time.Duration, bool) {
	if after, ok := uidring.RetryAfter(err); ok {
		return k.pause(after, err), true
	}
	if !storecall.Passes(err) {
		return 0, false
	}
	if k.report.differs(errOutage) {
		k.Logger.Warn("waiting for a worker ID", "error", err)
	}
	k.delay = nextDelay(k.delay, 0)
	return min(k.delay, time.Second), true // a start waits for each second
}

// tooLong reports whether ctx ends before a wait is over.
func tooLong(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < wait //mutate:operator an instant
}

// pause returns the time to wait before the next call of Assign after err, which passes. It logs
// err unless the last failure logged was of the same kind: the text has a time that changes. It
// adds jitter, up to an eighth and at most 5 s, so that a fleet does not return to its store at
// once.
func (k *Keeper) pause(after time.Duration, err error) time.Duration {
	if k.report.differs(kindOf(err)) {
		k.Logger.Warn("waiting for a worker ID", "retry", after.String(), "error", err)
	}
	least := min(max(after, shortestPause), time.Hour) // the Keeper calls the store at least this often
	return least + rand.N(min(least/8, 5*time.Second)) //mutate:number tuning of the jitter
}

// A postponed is an error that passes by the next call of Assign.
type postponed struct {
	error
	next time.Time
}

func (p postponed) Unwrap() error { return p.error }

// RetryAfter returns the time until that call.
func (p postponed) RetryAfter() time.Duration { return max(time.Until(p.next), shortestPause) }

// AwaitFirst waits for d, in which the first unit begins that no earlier holder has used, or until
// ctx ends. If ctx ends earlier, it returns an error at once.
func (k *Keeper) AwaitFirst(ctx context.Context, d time.Duration) error {
	if tooLong(ctx, d) {
		return fmt.Errorf("%s: %w: an earlier process may have used the worker ID for the next %v: raise StartTimeout, or the time of the context",
			k.Package, generator.Late(ctx), d)
	}
	if d > slowStart {
		k.Logger.Warn("waiting for the first unit of a worker ID that an earlier process may have used", "for", d.String())
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: waiting for the first unit: %w", k.Package, generator.Late(ctx))
	}
}
