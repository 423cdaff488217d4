package main

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A contender is what one goroutine of a race does, until stop is set. ctx ends together with the race.
type contender func(ctx context.Context, i int, stop *atomic.Bool) error

// race runs n goroutines, numbered from 0, from one moment on and returns how long it took until the last
// had ended. They are stopped after d unless that is 0, by the first error, and when ctx ends, which is an
// error too. They may set stop themselves.
func race(ctx context.Context, n int, d time.Duration, body contender) (time.Duration, error) {
	var stop atomic.Bool
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	group, inner := errgroup.WithContext(inner)
	defer context.AfterFunc(inner, func() { stop.Store(true) })()
	start := make(chan struct{})
	for i := range n {
		group.Go(func() error {
			<-start
			return body(inner, i, &stop)
		})
	}
	began := time.Now()
	close(start)
	if d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	err := group.Wait()
	return time.Since(began), cmp.Or(err, ctx.Err())
}
