package segment_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// A scripted source keeps its counters in memory, and does first as the test says.
type scripted struct {
	delta, remainder int64
	before           func(ctx context.Context, name string, n int64) error // nil: nothing

	mu   sync.Mutex
	next map[string]int64
}

func (s *scripted) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if err := ctx.Err(); err != nil {
		return segment.Range{}, err
	}
	if s.before != nil {
		if err := s.before(ctx, name, n); err != nil {
			return segment.Range{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delta := max(s.delta, 1)
	next := max(s.next[name], 1)
	switch {
	case n < 1 || name == "" || len(name) > 128:
		return segment.Range{}, errors.New("bad argument")
	case n > (math.MaxInt64-next)/delta:
		return segment.Range{}, segment.ErrExhausted
	}
	if s.next == nil {
		s.next = make(map[string]int64)
	}
	s.next[name] = next + n*delta
	first := next + ((s.remainder-next)%delta+delta)%delta
	return segment.Range{First: first, Last: first + (n-1)*delta, Increment: delta}, nil
}

var errDown = errors.New("down")

// while returns a func for scripted.before that fails while down is set.
func while(down *atomic.Bool) func(context.Context, string, int64) error {
	return func(context.Context, string, int64) error {
		if down.Load() {
			return errDown
		}
		return nil
	}
}

// restore sets a counter to its next ID, as a backup does that is restored.
func (s *scripted) restore(name string, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[name] = next
}

// names returns the names of the counters.
func (s *scripted) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.next))
}

// The suite passes with a source that is right, and its cases hold for the tests of this package.
func TestConformance(t *testing.T) {
	for delta := range int64(3) {
		s := &scripted{delta: delta}
		segmenttest.Run(t, segmenttest.Fixture{Open: func(*testing.T) segment.Source { return s }, Increment: delta})
	}
}
