package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// timeEvery returns how many calls there are to one that is timed. Reading the clock costs more than a
// Next; timing each would slow the load down to where nobody waits for anybody. It is an odd number: with a power of
// two, the calls that are timed would always, or never, be those that go on to the next run.
func timeEvery(l load) int {
	if l.rate > 0 {
		return 1
	}
	return 32/max(1, l.batch/64) | 1
}

// longest is what the histogram can hold; what takes longer counts as that long.
const longest = time.Minute

// A latencyRun is the outcome of the phase that times single calls.
type latencyRun struct {
	histogram *hdrhistogram.Histogram // of ns, the clock's share included
	clock     time.Duration           // what timing nothing shows
	every     int                     // one of how many calls was timed
	last      int64                   // the largest ID taken
}

// at returns a percentile without the clock's share.
func (r latencyRun) at(percentile float64) time.Duration {
	return max(0, time.Duration(r.histogram.ValueAtPercentile(percentile))-r.clock)
}

func (r latencyRun) longest() time.Duration {
	return max(0, time.Duration(r.histogram.Max())-r.clock)
}

// timeCalls runs the load for d and times some of its calls, paced each one.
func timeCalls(ctx context.Context, l load, d time.Duration) (latencyRun, error) {
	r := latencyRun{
		histogram: hdrhistogram.New(1, longest.Nanoseconds(), 3),
		clock:     clockCost(),
		every:     timeEvery(l),
	}
	var mu sync.Mutex // guards the histogram, and last
	p := l.pace()
	_, err := race(ctx, l.goroutines, d, func(ctx context.Context, i int, stop *atomic.Bool) error {
		t := &timer{load: l, every: r.every, dst: make([]int64, l.batch)}
		for more := true; more && p.wait(ctx); more = !stop.Load() {
			if err := t.turn(p.calls); err != nil {
				return err
			}
			if len(t.samples) >= 512 {
				mu.Lock()
				t.flush(r.histogram)
				mu.Unlock()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		t.flush(r.histogram)
		r.last = max(r.last, t.last)
		return nil
	})
	if err == nil && r.histogram.TotalCount() == 0 {
		err = fmt.Errorf("%w within %v; choose a longer -duration or a higher -rate", errNoID, d)
	}
	return r, err
}

// A timer times some of the calls of one goroutine.
type timer struct {
	load    load
	every   int
	dst     []int64 // of Fill
	calls   int
	last    int64
	samples []int64 // ns
}

// turn makes some calls. One that is rejected is made again and not timed.
func (t *timer) turn(calls int) error {
	for range calls {
		t.calls++
		if t.calls%t.every != 0 {
			if err := retry(t.call()); err != nil {
				return err
			}
			continue
		}
		began := time.Now()
		err := t.call()
		ns := time.Since(began).Nanoseconds()
		if err == nil {
			t.samples = append(t.samples, ns)
		} else if err := retry(err); err != nil {
			return err
		}
	}
	return nil
}

// call is one Next or one Fill.
func (t *timer) call() error {
	if len(t.dst) == 0 {
		id, err := t.load.gen.Next()
		t.last = max(t.last, id)
		return err
	}
	n, err := t.load.gen.Fill(t.dst)
	if n > 0 {
		t.last = t.dst[n-1]
	}
	return err
}

func (t *timer) flush(h *hdrhistogram.Histogram) {
	for _, ns := range t.samples {
		_ = h.RecordValue(min(max(ns, 1), longest.Nanoseconds())) // within its bounds
	}
	t.samples = t.samples[:0]
}

// clockCost is the median of what is seen when nothing is timed.
func clockCost() time.Duration {
	list := make([]time.Duration, 10_001)
	for i := range list {
		began := time.Now()
		list[i] = time.Since(began)
	}
	slices.Sort(list)
	return list[len(list)/2]
}
