package gentest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/together"
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

// Highest returns the highest ID.
func (l *Ledger) Highest() int64 { return l.highest.Load() }

// Check asks for at least so many IDs.
func (l *Ledger) Check(t testing.TB, least int) {
	t.Helper()
	if n := l.Len(); n < least {
		t.Errorf("%d IDs, want %d at least", n, least)
	}
}

// share returns n for the first policy, and less for the others.
func (s *suite) share(n int) int { return n / (1 + 4*s.policy) }

// original makes the checks that UidGenerator makes of its generators: 100,000 IDs, serial and with
// two goroutines for each processor, are positive, parse, and are all different.
func (s *suite) original(t *testing.T) {
	total := int64(s.share(100_000))
	for _, goroutines := range []int{1, 2 * runtime.GOMAXPROCS(0)} {
		t.Run(fmt.Sprintf("%d goroutines", goroutines), func(t *testing.T) {
			g := s.open(t, keeper.Settings{Layout: bitsalloc.Snowflake()})
			var taken atomic.Int64
			var seen idset.Set
			together.Run(goroutines, func(int) {
				for taken.Add(1) <= total {
					id, err := g.NextContext(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if f, err := g.Parse(id); err != nil || id <= 0 || f.String() == "" || f.WorkerID != 1 {
						t.Errorf("ID %d: %v, %v", id, f, err)
						return
					}
					seen.Once(t, id)
				}
			})
			if int64(seen.Len()) != total {
				t.Errorf("%d different IDs, want %d", seen.Len(), total)
			}
		})
	}
}

// order takes IDs on many goroutines: calls that follow one another get increasing IDs.
func (s *suite) order(t *testing.T) {
	for _, goroutines := range []int{2, 8, 64} {
		g := s.open(t, keeper.Settings{Layout: bitsalloc.Snowflake()})
		n := s.share(40_000) / goroutines
		var taken Ledger
		together.Run(goroutines, func(int) {
			for range n {
				taken.Take(t, func() (int64, error) { return g.NextContext(t.Context()) })
			}
		})
		taken.Check(t, n*goroutines)
	}
}
