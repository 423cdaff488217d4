// Package segments holds the generators of package segment that the ID service offers by name. A
// generator begins with the first request for its segment, so that a segment without requests takes
// no range and needs no store.
package segments

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/uidring/uidring/segment"
)

// A Set holds the segments of a service. Any number of goroutines may use it. A nil Set has none.
type Set struct {
	list   []*Segment // in the order of names
	ctx    context.Context
	cancel context.CancelFunc // ends ctx

	mu       sync.Mutex // guards Segment.begun, and group against a Close at the same time
	attempts sync.WaitGroup
}

// New returns the segments with names that leasestore.CheckNamespace accepts, from one source. It
// does not call the source.
func New(names []string, source segment.Source, logger *slog.Logger) *Set {
	t := new(Set)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, name := range slices.Sorted(slices.Values(names)) {
		s := &Segment{set: t, answered: make(chan struct{})}
		s.cfg = segment.Config{Name: name, Source: source, OnEmpty: segment.Reject, Logger: logger}
		t.list = append(t.list, s)
	}
	return t
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
