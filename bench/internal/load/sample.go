package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/cached"
)

// longest is the range of a histogram; longer calls count as that long.
const longest = time.Minute

// NewHistogram returns an empty histogram of nanoseconds.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest.Nanoseconds(), 3) }

// A Call is timed. It returns an ID that it took.
type Call func() (int64, error)

// Calls returns a func that makes the Call of a goroutine as l says, and the func that ends it.
func Calls(g *cached.Generator, l Load) func() (call Call, leave func()) {
	return func() (Call, func()) {
		switch {
		case l.Lanes == LanePerGoroutine:
			lane := g.Lane()
			return lane.Next, lane.Close
		case l.Batch == 0:
			return g.Next, func() {}
		}
		dst := make([]int64, l.Batch)
		return func() (last int64, err error) {
			n, err := g.Fill(dst)
			if n > 0 {
				last = dst[n-1]
			}
			return last, err
		}, func() {}
	}
}

// OneOf returns how many calls Sample makes for each that it times. Reading the clock costs more
// than a Next; timing each call would slow the load down until goroutines no longer contend. The
// number is odd: with a power of two, either all timed calls or none would enter the next block.
func (l Load) OneOf() int {
	if l.Rate > 0 {
		return 1
	}
	return 32/max(1, l.Batch/64) | 1
}

// Sample makes calls for d and adds the times of some of them, in nanoseconds, to h. The time to
// read the clock is included. It returns the largest ID. If open is nil, it reads the clock and
// makes no call.
func (l Load) Sample(ctx context.Context, d time.Duration, open func() (call Call, leave func()), h *hdrhistogram.Histogram) (last int64, err error) {
	var mu sync.Mutex // guards h and last
	turns, before := l.Turns(), h.TotalCount()
	_, err = Race(ctx, l.Goroutines, d, func(ctx context.Context, _ int, stop *atomic.Bool) error {
		s := sampler{every: l.OneOf(), samples: make([]int64, 0, 1024)}
		if open != nil {
			var leave func()
			s.call, leave = open()
			defer leave()
		}
		flush := func() {
			mu.Lock()
			defer mu.Unlock()
			s.flush(h)
			last = max(last, s.last)
		}
		defer flush()
		return turns(ctx, stop, func(calls, _ int) error {
			if len(s.samples) > cap(s.samples)-Stride {
				flush()
			}
			return s.turn(max(1, calls/s.every))
		})
	})
	if err == nil && h.TotalCount() == before {
		err = fmt.Errorf("%w within %v; choose a longer --duration or a higher --rate", ErrNoID, d)
	}
	return last, err
}

// A sampler times one of every calls of one goroutine.
type sampler struct {
	call    Call // nil: the clock alone
	every   int
	last    int64
	samples []int64 // ns
}

// turn takes n samples. Rejected calls are made, but not timed.
func (s *sampler) turn(n int) error {
	for range n {
		if s.call == nil {
			began := time.Now()
			s.samples = append(s.samples, time.Since(began).Nanoseconds())
			continue
		}
		for range s.every - 1 {
			if _, err := s.call(); err != nil {
				if err := Retry(err); err != nil {
					return err
				}
			}
		}
		began := time.Now()
		id, err := s.call()
		ns := time.Since(began).Nanoseconds()
		if err == nil {
			s.samples = append(s.samples, ns)
			s.last = max(s.last, id)
		} else if err := Retry(err); err != nil {
			return err
		}
	}
	return nil
}

func (s *sampler) flush(h *hdrhistogram.Histogram) {
	for _, ns := range s.samples {
		_ = h.RecordValue(min(max(ns, 1), longest.Nanoseconds())) // within its bounds
	}
	s.samples = s.samples[:0]
}

// ClockCost returns the median time that a sample shows if nothing is timed.
func ClockCost() time.Duration {
	list := make([]time.Duration, 10_001)
	for i := range list {
		began := time.Now()
		list[i] = time.Since(began)
	}
	slices.Sort(list)
	return list[len(list)/2]
}
