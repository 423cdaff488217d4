package sqlassigner

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// retry calls attempt until it succeeds, returns a permanent error, or ctx ends. It returns the
// number of calls and the error of the last one. Between two calls it waits with exponential
// backoff and jitter, so that processes that collided once do not collide again.
func retry(ctx context.Context, attempt func() error, passes func(error) bool) (tries int, err error) {
	pause := firstPause
	var cause error
	for tries = 1; ; tries++ {
		err = attempt()
		if ended := ctx.Err(); ended != nil && cause != nil && errors.Is(err, ended) {
			err = cause // the last attempt only failed for lack of time
		}
		if err == nil || ctx.Err() != nil || !passes(err) {
			return tries, err
		}
		cause = err
		timer := time.NewTimer(rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return tries, err
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}
