// Package segments holds the generators of package segment that the ID service offers by name. A
// generator begins with the first request for its segment, so that a segment without requests takes
// no range and needs no store.
package segments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/segment"
)

// A Set holds the segments of a service. Any number of goroutines may use it. A nil Set has none.
type Set struct {
	list   []*Segment // in the order of names
	ctx    context.Context
	cancel context.CancelFunc // ends ctx

	mu       sync.Mutex // no attempt begins while Close waits for them
	attempts sync.WaitGroup
}

// New returns the segments with names that leasestore.CheckNamespace accepts, from one source. It
// does not call the source.
func New(names []string, source segment.Source, logger *slog.Logger) *Set {
	t := new(Set)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, name := range slices.Sorted(slices.Values(names)) {
		s := &Segment{set: t, answered: make(chan struct{})}
		s.begin = sync.OnceFunc(func() { t.begin(s) })
		s.cfg = segment.Config{Name: name, Source: reporting{s, source}, OnEmpty: segment.Reject, Logger: logger}
		t.list = append(t.list, s)
	}
	return t
}

// begin has a segment make its generator, unless the set is closed.
func (t *Set) begin(s *Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		s.become(nil, &state{err: segment.ErrClosed})
		return
	}
	t.attempts.Go(s.open)
}

// All returns the segments in the order of their names.
func (t *Set) All() []*Segment {
	if t == nil {
		return nil
	}
	return t.list
}

// Close ends the generators. Requests after it get segment.ErrClosed.
func (t *Set) Close() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempts.Wait()
	for _, s := range t.list {
		if b := s.state.Load(); b != nil && b.generator != nil {
			_ = b.generator.Close() // always nil
		}
	}
}

// firstPause and longestPause bound the pause before the next attempt to make a generator. The
// pause doubles with each failure, since each failure makes a log record.
const firstPause, longestPause = time.Second, 15 * time.Second

// A Segment issues the IDs of one counter. Any number of goroutines may use it.
type Segment struct {
	set      *Set
	cfg      segment.Config
	begin    func()                // starts the generator, once
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

// reporting is a source that gives requests its errors while there is no generator.
type reporting struct {
	s *Segment
	segment.Source
}

// Advance implements segment.Source.
func (r reporting) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	got, err := r.Source.Advance(ctx, name, n)
	if before := r.s.state.Load(); err != nil && (before == nil || before.generator == nil) {
		r.s.become(before, &state{err: refusal(err)})
	}
	return got, err
}

// refusal returns the error that requests get for an error of the source: open tries again, so any
// other than these passes.
func refusal(err error) error {
	for _, documented := range []error{segment.ErrExhausted, segment.ErrWentBack, segment.ErrInvalidRange} {
		if errors.Is(err, documented) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", segment.ErrEmpty, err)
}

// open makes the generator, until the set is closed: NewContext waits for a store that is away, but
// an error that stays may be mended, too.
func (s *Segment) open() {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		g, err := segment.NewContext(s.set.ctx, s.cfg)
		next := &state{generator: g}
		switch {
		case s.set.ctx.Err() != nil && err != nil:
			next.err = segment.ErrClosed
		case err != nil:
			next.err = refusal(err)
		}
		for !s.become(s.state.Load(), next) { // reporting may be faster
		}
		if err == nil || next.err == segment.ErrClosed {
			return
		}
		select {
		case <-s.set.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// become replaces the state, and reports false if another goroutine has done so.
func (s *Segment) become(before, next *state) bool {
	ok := s.state.CompareAndSwap(before, next)
	if ok && before == nil {
		close(s.answered)
	}
	return ok
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
