package sqlassigner

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/uidring/uidring/internal/storecall"
)

const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// retry calls call until it succeeds, returns a permanent error, or ctx ends. It returns the
// number of calls and the error of the last one. Between two calls it waits with exponential
// backoff and jitter, so that processes that collided once do not collide again.
func retry(ctx context.Context, call func() error, passes func(error) bool) (tries int, err error) {
	pause := firstPause
	var cause error
	for tries = 1; ; tries++ {
		err = call()
		if err == nil || ctx.Err() != nil || !passes(err) {
			break
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		cause = err
		storecall.Failed(ctx, err)
		pause = min(2*pause, longestPause)
	}
	// A dial may reach the deadline of ctx a moment before ctx ends.
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if late && cause != nil && ctx.Err() != nil {
		err = cause // the last attempt only failed for lack of time
	}
	return tries, err
}
