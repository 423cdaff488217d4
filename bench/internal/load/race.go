package load

import (
	"cmp"
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Body is the work of goroutine i in a race, until stop is set. ctx ends together with the race.
type Body func(ctx context.Context, i int, stop *atomic.Bool) error

// Race starts n goroutines at one moment and returns the time until the last has ended. It stops
// them after d, unless d is 0, at the first error, and when ctx ends, which is an error too. A body
// may set stop itself.
func Race(ctx context.Context, n int, d time.Duration, body Body) (time.Duration, error) {
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

// A yielder yields now and then to other goroutines, if they outnumber the CPUs: the scheduler
// would let each run for about 10 ms, and a lap would show its fairness and not the generator's. It
// yields about once in 20 µs, which hides the cost.
type yielder struct {
	every, left int // steps
	began       time.Time
}

const slice = 20 * time.Microsecond

func newYielder(goroutines int) *yielder {
	if goroutines <= runtime.GOMAXPROCS(0) {
		return nil
	}
	return &yielder{1, 1, time.Now()}
}

func (y *yielder) step() {
	if y == nil {
		return
	}
	if y.left--; y.left > 0 {
		return
	}
	y.every = steps(y.every, time.Since(y.began))
	y.left = y.every
	runtime.Gosched()
	y.began = time.Now()
}

// steps returns the number of steps in a slice, if every steps took so long.
func steps(every int, took time.Duration) int {
	return min(max(1, int(float64(every)*float64(slice)/float64(max(1, took)))), 1<<20)
}
