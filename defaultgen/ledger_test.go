package defaultgen_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A ledger notes IDs that many goroutines take, and checks the order between calls: an ID is above
// all IDs that were returned before its call began.
type ledger struct {
	highest atomic.Int64
	mu      sync.Mutex
	ids     []int64
}

// take calls next once; it may fail with one of the errors allowed, and says whether there was an
// ID.
func (l *ledger) take(t testing.TB, next func() (int64, error), allowed ...error) bool {
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
	l.mu.Lock()
	l.ids = append(l.ids, id)
	l.mu.Unlock()
	return true
}

// check asks for at least so many IDs, all positive and different.
func (l *ledger) check(t testing.TB, least int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) < least {
		t.Errorf("%d IDs, want %d at least", len(l.ids), least)
	}
	slices.Sort(l.ids)
	checkIncreasing(t, l.ids)
}
