package idset

import (
	"sync/atomic"
	"testing"
)

// A Ledger checks IDs that many goroutines take: each comes once, and is above all IDs that were
// returned before its call began.
type Ledger struct {
	Set
	highest atomic.Int64
}

// Take calls take once, checks its IDs, and returns their number and the error.
func (l *Ledger) Take(t testing.TB, take func() ([]int64, error)) (int, error) {
	t.Helper()
	last := l.highest.Load()
	ids, err := take()
	for _, id := range ids {
		if id <= last {
			t.Errorf("ID %d, but %d was returned before", id, last)
		}
		last = id
	}
	l.Once(t, ids...)
	for high := l.highest.Load(); last > high && !l.highest.CompareAndSwap(high, last); high = l.highest.Load() {
	}
	return len(ids), err
}

// Next is Take for a single ID.
func (l *Ledger) Next(t testing.TB, next func() (int64, error)) error {
	t.Helper()
	_, err := l.Take(t, func() ([]int64, error) {
		id, err := next()
		if err != nil {
			return nil, err
		}
		return []int64{id}, nil
	})
	return err
}
