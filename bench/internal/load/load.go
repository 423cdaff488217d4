// Package load takes IDs with many goroutines and measures the time.
package load

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/internal/test/gauge"
)

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

// Run takes IDs from the source with many goroutines for d. Each takes at least gauge.Stride IDs.
func Run(ctx context.Context, goroutines int, src gauge.Source, d time.Duration) (lap Lap, err error) {
	var ids atomic.Int64
	before := CPUTime()
	lap.Wall, err = Race(ctx, goroutines, d, func(_ int, stop *atomic.Bool) error {
		take := src.Join()
		taken := int64(0)
		defer func() { ids.Add(taken) }()
		for more := true; more; more = !stop.Load() {
			if _, err := take(gauge.Stride); err != nil {
				return err
			}
			taken += gauge.Stride
		}
		return nil
	})
	lap.CPU, lap.IDs = CPUTime()-before, ids.Load()
	return lap, err
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
