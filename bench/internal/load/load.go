// Package load takes IDs with many goroutines and measures the time.
package load

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Stride is the number of IDs that a goroutine takes before it looks at the stop flag again.
const Stride = 256

// A Taker takes n IDs for one goroutine. It returns the last ID, or some function of it, so that
// the compiler keeps the calls. Fast generators have a Taker with a loop of its own: the call of
// a func for each ID would show.
type Taker func(n int) (last int64, err error)

// A Source is a generator, or a baseline in its place.
type Source struct {
	Join  func() Taker // for one goroutine
	Close func() error
}

// Shared returns a source whose goroutines share one Taker.
func Shared(take Taker, close func() error) Source {
	return Source{func() Taker { return take }, close}
}

// Each returns a Taker that calls next for each ID.
func Each(next func() (int64, error)) Taker {
	return func(n int) (last int64, err error) {
		for range n {
			if last, err = next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}
}

// Race starts n goroutines at one moment and returns the time until the last has ended. It sets
// stop after d, unless d is 0, and at the first error. If ctx ends, Race fails.
func Race(ctx context.Context, n int, d time.Duration, body func(i int, stop *atomic.Bool) error) (time.Duration, error) {
	var stop atomic.Bool
	group, failed := errgroup.WithContext(ctx)
	defer context.AfterFunc(failed, func() { stop.Store(true) })()
	start := make(chan struct{})
	for i := range n {
		group.Go(func() error {
			<-start
			return body(i, &stop)
		})
	}
	began := time.Now()
	close(start)
	if d > 0 {
		defer time.AfterFunc(d, func() { stop.Store(true) }).Stop()
	}
	err := group.Wait()
	return time.Since(began), cmp.Or(err, ctx.Err())
}

// A Lap is the result of one race.
type Lap struct {
	IDs       int64
	Wall, CPU time.Duration // CPU time of the process; 0: the system does not report it
}

// Ns returns nanoseconds per ID, all goroutines together.
func (l Lap) Ns() float64 { return float64(l.Wall.Nanoseconds()) / float64(l.IDs) }

// CPUs returns the number of CPUs that the process had on average.
func (l Lap) CPUs() float64 { return l.CPU.Seconds() / l.Wall.Seconds() }

// Run takes IDs from the source with many goroutines for d. Each takes at least Stride IDs.
func Run(ctx context.Context, goroutines int, src Source, d time.Duration) (lap Lap, err error) {
	var ids atomic.Int64
	before := cpuTime()
	lap.Wall, err = Race(ctx, goroutines, d, func(_ int, stop *atomic.Bool) error {
		take := src.Join()
		taken := int64(0)
		defer func() { ids.Add(taken) }()
		for more := true; more; more = !stop.Load() {
			if _, err := take(Stride); err != nil {
				return err
			}
			taken += Stride
		}
		return nil
	})
	lap.CPU, lap.IDs = cpuTime()-before, ids.Load()
	return lap, err
}

// Sample times the taking of one ID, after 32 others, over and over for d. It returns all
// times, sorted; each includes reading the clock. Timing every call would slow the goroutines
// down until they no longer contend.
func Sample(ctx context.Context, goroutines int, src Source, d time.Duration) ([]time.Duration, error) {
	const most = 1 << 20 // of a goroutine
	lists := make([][]time.Duration, goroutines)
	_, err := Race(ctx, goroutines, d, func(i int, stop *atomic.Bool) error {
		take := src.Join()
		for len(lists[i]) < most && (len(lists[i]) == 0 || !stop.Load()) {
			if _, err := take(32); err != nil {
				return err
			}
			began := time.Now()
			_, err := take(1)
			lists[i] = append(lists[i], time.Since(began))
			if err != nil {
				return err
			}
		}
		return nil
	})
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all, err
}

// Pace makes calls from many goroutines, spread evenly over d, and times one in every calls. A
// goroutine that wakes late makes the calls that are due at once. Pace returns the times, sorted;
// each includes reading the clock. It stops at the first error.
func Pace(ctx context.Context, goroutines, calls, every int, d time.Duration, call func() error) ([]time.Duration, error) {
	lists := make([][]time.Duration, goroutines)
	began := time.Now()
	_, err := Race(ctx, goroutines, 0, func(i int, stop *atomic.Bool) error {
		own := (calls + i) / goroutines // the sum over all goroutines is calls
		step := float64(d) / float64(max(own, 1))
		times := make([]time.Duration, 0, own/every+1)
		for done := 0; done < own && !stop.Load(); done += every {
			due := float64(done) + float64(i)/float64(goroutines) // out of step with the others
			time.Sleep(time.Duration(due*step) - time.Since(began))
			before := time.Now()
			err := call()
			times = append(times, time.Since(before))
			for range min(every, own-done) - 1 {
				err = cmp.Or(err, call())
			}
			if err != nil {
				return err
			}
		}
		lists[i] = times
		return nil
	})
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all, err
}
