package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A passing error is an error of Assign that says when it is worth another call.
type passing interface {
	error
	RetryAfter() time.Duration
}

// shortestPause is the least time between two calls to the store that the generator has not asked
// for.
const shortestPause = 100 * time.Millisecond

// longestPause bounds RetryAfter: the store is asked again, however long it asks to wait.
const longestPause = time.Hour

// spread makes a pause up to an eighth longer, 5 s at most, so that a fleet does not come back to
// its store at once.
func spread(pause time.Duration) time.Duration { return pause + rand.N(min(pause/8, 5*time.Second)) }

// nextDelay doubles the delay between two tries after a failure, from about shortestPause to about
// 10 s, and spreads it.
func nextDelay(last time.Duration) time.Duration {
	const most = 10 * time.Second
	next := min(max(2*last, shortestPause), most)
	return next/2 + rand.N(next/2)
}

// first takes the first lease. It waits out errors that pass, unless ctx never ends: then the
// caller could not stop it.
func (k *Keeper) first(ctx context.Context) error {
	var cause error // of the last wait
	for {
		err := k.assign(ctx, 0)
		if err == nil {
			return nil
		}
		pause, ok := k.pause(err)
		if !ok || ctx.Done() == nil {
			return after(cause, err)
		}
		cause = err
		k.logWait(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), cause)
		}
	}
}

// after adds the cause of an earlier wait to an error that need not tell: the context may have
// ended in the middle of a call.
func after(cause, err error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, cause)
}

// pause returns how long to wait before the next call of Assign when err is an error that passes.
func (k *Keeper) pause(err error) (time.Duration, bool) {
	p, ok := errors.AsType[passing](err)
	if !ok {
		return 0, false
	}
	return spread(min(max(p.RetryAfter(), shortestPause), longestPause)), true
}

// logWait logs err, an error that passes, unless the last record of trouble had the same cause.
func (k *Keeper) logWait(err error) {
	p, _ := errors.AsType[passing](err)
	if k.reports(root(p).Error()) {
		k.cfg.Logger.Warn("waiting for a worker ID", "retry", p.RetryAfter(), "error", err)
	}
}

// root returns the innermost error: a sentinel, whose text has no figures that change.
func root(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if e.Unwrap() == nil {
				return err
			}
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			if len(e.Unwrap()) == 0 {
				return err
			}
			err = e.Unwrap()[0]
		default:
			return err
		}
	}
}
