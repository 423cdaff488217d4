package count

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
)

// A Subject is a generator under test.
type Subject struct {
	Alloc    *bitsalloc.Allocator
	Holder   func() int64                 // returns its worker ID
	First    func() (int64, error)        // takes the ID that the count begins with
	Consumer func(goroutine int) Consumer // for one goroutine
}

// A Consumer takes IDs for one goroutine.
type Consumer struct {
	Take func(s *Stream, n int) (int, error) // takes about n IDs, records them in s, and returns their number
	End  func()                              // may be nil
}

// Next returns a Consumer that takes IDs one by one.
func Next(next func() (int64, error)) Consumer {
	return Fill(func(dst []int64) (n int, err error) {
		for n < len(dst) && err == nil {
			if dst[n], err = next(); err == nil {
				n++
			}
		}
		return n, err
	}, 1<<20)
}

// Fill returns a Consumer that takes IDs with calls of fill, for at most batch IDs each.
func Fill(fill func(dst []int64) (int, error), batch int) Consumer {
	var ids []int64
	return Consumer{Take: func(s *Stream, n int) (int, error) {
		if len(ids) < n {
			ids = make([]int64, n)
		}
		taken, err := 0, error(nil)
		for taken < n && err == nil {
			var got int
			got, err = fill(ids[taken:min(taken+batch, n)])
			taken += got
		}
		return taken, errors.Join(s.Record(ids[:taken]), load.Retry(err))
	}}
}

// Reserve returns a Consumer that takes ranges of 1 to 20,000 IDs, more than two blocks of the
// default layout.
func Reserve(reserve func(n int) (first int64, got int, err error), seed int) Consumer {
	random := rand.New(rand.NewPCG(4, uint64(seed)))
	return Consumer{Take: func(s *Stream, _ int) (int, error) {
		first, n, err := reserve(1 + random.IntN(20_000))
		if err != nil {
			return 0, load.Retry(err)
		}
		return n, s.RecordRange(first, n)
	}}
}

// A Counting takes IDs from a subject and counts each.
type Counting struct {
	Load      load.Load
	Target    int64         // IDs to take, at least
	Limit     time.Duration // ends the counting sooner; 0: none
	Unordered bool          // the IDs of one goroutine need not increase
	Taken     atomic.Int64  // IDs so far
}

// Result is the result of a Counting.
type Result struct {
	IDs       int64 // taken
	Different int64 // counted in the bitmap
	Bytes     int64 // peak memory of the bitmaps
	Wall      time.Duration
}

// Run takes IDs until there are enough. It fails at the first ID that is a duplicate, out of order
// or of another worker.
func (c *Counting) Run(ctx context.Context, sub Subject) (Result, error) {
	id, err := sub.First()
	if err != nil {
		return Result{}, err
	}
	first, err := sub.Alloc.Parse(id)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrOutside, err)
	}
	checker := NewChecker(sub.Alloc, first, sub.Holder)
	if err := checker.Stream(0).Record([]int64{id}); err != nil {
		return Result{}, err
	}
	c.Taken.Store(1)
	turns := c.Load.Turns()
	wall, err := load.Race(ctx, c.Load.Goroutines, c.Limit, func(ctx context.Context, i int, stop *atomic.Bool) error {
		consumer := sub.Consumer(i)
		if consumer.End != nil {
			defer consumer.End()
		}
		s := checker.Stream(i)
		if s.Unordered = c.Unordered; !s.Unordered {
			s.Last = id
		}
		return turns(ctx, stop, func(_, ids int) error {
			n, err := consumer.Take(s, ids)
			if c.Taken.Add(int64(n)) >= c.Target {
				stop.Store(true)
			}
			return err
		})
	})
	r := Result{IDs: c.Taken.Load(), Wall: wall}
	r.Different, r.Bytes = checker.Totals()
	return r, err
}
