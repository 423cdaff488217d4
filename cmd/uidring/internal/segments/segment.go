package segments

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/segment"
)

// firstPause and longestPause bound the pause before the next attempt to make a generator. The
// pause doubles with each failure, since each failure makes a log record.
const firstPause, longestPause = time.Second, 15 * time.Second

// A Segment issues the IDs of one counter. Any number of goroutines may use it.
type Segment struct {
	set      *Set
	cfg      segment.Config
	begun    bool                  // guarded by set.mu
	answered chan struct{}         // closed when state is set for the first time
	state    atomic.Pointer[state] // nil: the first attempt has not ended
	last     atomic.Int64          // the largest ID issued
}

// A state is a generator, or the error of the last attempt to make it.
type state struct {
	generator *segment.Generator
	err       error
}

// Name returns the name of the counter.
func (s *Segment) Name() string { return s.cfg.Name }

// Reserve is the method of segment.Generator. It returns segment.ErrEmpty until the generator has
// its first range.
func (s *Segment) Reserve(n int) (first int64, got int, err error) {
	return s.take(func(g *segment.Generator) (int64, int, error) { return g.Reserve(n) })
}

// ReserveContext is the method of segment.Generator. It waits for the first attempt to make the
// generator, but not for later ones.
func (s *Segment) ReserveContext(ctx context.Context, n int) (first int64, got int, err error) {
	if s.state.Load() == nil {
		s.begin()
		select {
		case <-s.answered:
		case <-ctx.Done():
			return 0, 0, fmt.Errorf("%w: %w", segment.ErrEmpty, ctx.Err())
		}
	}
	return s.take(func(g *segment.Generator) (int64, int, error) { return g.ReserveContext(ctx, n) })
}

func (s *Segment) take(reserve func(*segment.Generator) (int64, int, error)) (first int64, got int, err error) {
	b := s.state.Load()
	if b == nil {
		s.begin()
		return 0, 0, segment.ErrEmpty
	}
	if b.err != nil {
		return 0, 0, b.err
	}
	if first, got, err = reserve(b.generator); err == nil {
		s.issued(first + int64(got) - 1)
	}
	return first, got, err
}

// begin starts the generator, unless that was done before.
func (s *Segment) begin() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	if s.begun {
		return
	}
	s.begun = true
	if s.set.ctx.Err() != nil {
		s.become(&state{err: segment.ErrClosed})
		return
	}
	s.set.attempts.Go(s.open)
}

// open makes the generator. It tries again until the set is closed: a generator retries by itself
// only after its first range.
func (s *Segment) open() {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		g, err := segment.NewContext(s.set.ctx, s.cfg)
		s.become(&state{g, err})
		if err == nil {
			return
		}
		select {
		case <-s.set.ctx.Done():
			s.become(&state{err: segment.ErrClosed})
			return
		case <-time.After(pause):
		}
	}
}

func (s *Segment) become(next *state) {
	if s.state.Swap(next) == nil {
		close(s.answered)
	}
}

// issued raises last to id.
func (s *Segment) issued(id int64) {
	for last := s.last.Load(); id > last && !s.last.CompareAndSwap(last, id); last = s.last.Load() {
	}
}

// Stats is the state of a segment.
type Stats struct {
	Name string
	Last int64 // the largest ID that this process has issued; 0: none yet
	Step int64 // size of the next range; 0 before the first range
	segment.Stats
}

// Stats returns a snapshot.
func (s *Segment) Stats() Stats {
	stats := Stats{Name: s.cfg.Name, Last: s.last.Load()}
	if b := s.state.Load(); b != nil && b.generator != nil {
		stats.Stats = b.generator.Stats()
		stats.Step = stats.Sources[0].Step
	} else if b != nil {
		stats.Sources = []segment.SourceStats{{Err: b.err}}
	}
	return stats
}
