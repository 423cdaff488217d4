// Package idset counts IDs in tests: each may occur once.
package idset

import (
	"sync"
	"sync/atomic"
	"testing"
)

// pageBits is the size of a page: 2^12 IDs in 512 bytes.
const pageBits = 12

type page [1 << pageBits / 64]atomic.Uint64

// A Set holds IDs, each in one bit. IDs that lie close together take the least memory. The zero Set
// is empty. Any number of goroutines may use a Set at once.
type Set struct {
	pages sync.Map // by ID >> pageBits: *page
	count atomic.Int64
}

// Add adds IDs, and returns the IDs that were in the set before. It is fastest for many IDs in
// order.
func (s *Set) Add(ids ...int64) (again []int64) {
	var p *page
	var number int64
	for _, id := range ids {
		if p == nil || id>>pageBits != number {
			number = id >> pageBits
			found, ok := s.pages.Load(number)
			if !ok {
				found, _ = s.pages.LoadOrStore(number, new(page))
			}
			p = found.(*page)
		}
		i := id & (1<<pageBits - 1)
		if bit := uint64(1) << (i % 64); p[i/64].Or(bit)&bit != 0 {
			again = append(again, id)
		}
	}
	s.count.Add(int64(len(ids) - len(again)))
	return again
}

// Once adds IDs, and reports an error if some of them were in the set before.
func (s *Set) Once(t testing.TB, ids ...int64) {
	t.Helper()
	if again := s.Add(ids...); len(again) > 0 {
		t.Errorf("%d of %d IDs came twice, the first is %d", len(again), len(ids), again[0])
	}
}

// Len returns the number of IDs in the set. Calls of Add in progress may not be counted.
func (s *Set) Len() int { return int(s.count.Load()) }

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
