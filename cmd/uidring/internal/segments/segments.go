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
		s.answer = sync.OnceFunc(func() { close(s.answered) })
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
		s.fail(segment.ErrClosed)
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
		if g := s.generator.Load(); g != nil {
			_ = g.Close() // always nil
		}
	}
}

// firstPause and longestPause bound the pause before the next attempt to make a generator. The
// pause doubles with each failure, since each failure makes a log record.
const firstPause, longestPause = time.Second, 15 * time.Second

// A Segment issues the IDs of one counter. Any number of goroutines may use it.
type Segment struct {
	set       *Set
	cfg       segment.Config
	begin     func()        // makes the generator in the background, once
	answer    func()        // closes answered, once
	answered  chan struct{} // closed when the first attempt has a generator or an error
	generator atomic.Pointer[segment.Generator]
	err       atomic.Pointer[error] // of requests while there is no generator; nil: none yet
	last      atomic.Int64          // the largest ID issued
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
	if s.generator.Load() == nil {
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
	g := s.generator.Load()
	if g == nil {
		s.begin()
		if failed := s.err.Load(); failed != nil {
			return 0, 0, *failed
		}
		return 0, 0, segment.ErrEmpty
	}
	if first, got, err = reserve(g); err == nil {
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
	if err != nil {
		r.s.fail(err)
	}
	return got, err
}

// fail notes the error that requests get while there is no generator: open tries again, so any
// other error of the source than these passes.
func (s *Segment) fail(err error) {
	switch {
	case s.set.ctx.Err() != nil:
		err = segment.ErrClosed
	case !errors.Is(err, segment.ErrExhausted) && !errors.Is(err, segment.ErrWentBack) && !errors.Is(err, segment.ErrInvalidRange):
		err = fmt.Errorf("%w: %w", segment.ErrEmpty, err)
	}
	s.err.Store(&err)
	s.answer()
}

// open makes the generator, until the set is closed: NewContext waits for a store that is away, but
// an error that stays may be mended, too.
func (s *Segment) open() {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		g, err := segment.NewContext(s.set.ctx, s.cfg)
		if err == nil {
			s.generator.Store(g)
			s.answer()
			return
		}
		s.fail(err)
		select {
		case <-s.set.ctx.Done():
			s.fail(segment.ErrClosed)
			return
		case <-time.After(pause):
		}
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
	if g := s.generator.Load(); g != nil {
		stats.Stats = g.Stats()
		stats.Step = stats.Sources[0].Step
	} else if failed := s.err.Load(); failed != nil {
		stats.Sources = []segment.SourceStats{{Err: *failed}}
	}
	return stats
}
