package gentest

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A Ledger checks IDs that many goroutines take: each comes once, and is above all IDs that were
// returned before its call began.
type Ledger struct {
	idset.Set
	highest atomic.Int64
}

// Take calls next once, and reports whether there was an ID. The call may fail with one of the
// errors allowed.
func (l *Ledger) Take(t testing.TB, next func() (int64, error), allowed ...error) bool {
	t.Helper()
	before := l.highest.Load()
	id, err := next()
	if err != nil {
		if !slices.ContainsFunc(allowed, func(target error) bool { return errors.Is(err, target) }) {
			t.Errorf("unexpected error: %v", err)
		}
		return false
	}
	if id <= before {
		t.Errorf("ID %d, but %d was returned before the call began", id, before)
	}
	for high := l.highest.Load(); id > high && !l.highest.CompareAndSwap(high, id); high = l.highest.Load() {
	}
	l.Once(t, id)
	return true
}

// Check asks for at least so many IDs.
func (l *Ledger) Check(t testing.TB, least int) {
	t.Helper()
	if n := l.Len(); n < least {
		t.Errorf("%d IDs, want %d at least", n, least)
	}
}

// order takes IDs on many goroutines, most with the first policy: calls that follow one another get
// increasing IDs.
func (s *suite) order(t *testing.T) {
	for _, goroutines := range []int{2, 8, 64} {
		g := s.open(t, keeper.Settings{Layout: bitsalloc.Snowflake()})
		n := 40_000 / (1 + 4*s.policy) / goroutines
		var taken Ledger
		testkit.Together(goroutines, func(int) {
			for range n {
				taken.Take(t, func() (int64, error) { return g.NextContext(t.Context()) })
			}
		})
		taken.Check(t, n*goroutines)
	}
}
