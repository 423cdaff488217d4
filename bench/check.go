package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A checkedRun is the outcome of the phase in which every ID is checked.
type checkedRun struct {
	taken       int64 // by the goroutines
	ids         int64 // different ones, counted in the bitmap
	bitmapBytes int64
	wall        time.Duration
}

// A checkPhase takes at least target IDs, within limit unless that is 0, and checks every one: all
// are different, those of each goroutine increase, and all lie above the largest of the phases before.
type checkPhase struct {
	load   load
	alloc  *bitsalloc.Allocator
	before int64 // the largest ID of the phases before
	target int64
	limit  time.Duration
	taken  atomic.Int64
}

func (p *checkPhase) run(ctx context.Context) (checkedRun, error) {
	id, err := p.load.gen.NextContext(ctx)
	if err != nil {
		return checkedRun{}, err
	}
	first, err := p.alloc.Parse(id)
	if err != nil {
		return checkedRun{}, fmt.Errorf("%w: %w", errOutside, err)
	}
	if id <= p.before {
		return checkedRun{}, fmt.Errorf("%w: got %v after %d", errOrder, first, p.before)
	}
	c := newChecker(p.alloc, first, p.load.gen.WorkerID)
	opening := c.stream(0)
	if err := opening.record([]int64{id}); err != nil {
		return checkedRun{}, err
	}
	issued := p.load.gen.Stats().Issued - 1
	pace := p.load.pace()
	wall, err := race(ctx, p.load.goroutines, p.limit, func(ctx context.Context, i int, stop *atomic.Bool) error {
		s := c.stream(i)
		s.last = id
		return p.follow(ctx, stop, pace, s)
	})
	if err != nil {
		return checkedRun{}, err
	}
	r := checkedRun{taken: p.taken.Load() + 1, wall: wall}
	r.ids, r.bitmapBytes = c.totals()
	issued = p.load.gen.Stats().Issued - issued
	if r.ids != r.taken || issued != r.taken {
		return r, fmt.Errorf("miscount: %d IDs taken, %d different ones counted, %d issued by the generator", r.taken, r.ids, issued)
	}
	return r, nil
}

// follow is one goroutine of the phase.
func (p *checkPhase) follow(ctx context.Context, stop *atomic.Bool, pace pace, s *stream) error {
	ids := make([]int64, 0, pace.ids)
	for !stop.Load() && pace.wait(ctx) {
		ids, err := p.load.collect(ids, pace)
		if err := s.record(ids); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		if p.taken.Add(int64(len(ids))) >= p.target-1 {
			stop.Store(true)
		}
	}
	return nil
}
