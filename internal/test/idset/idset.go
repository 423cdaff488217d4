// Package idset counts IDs in tests: each may occur once.
package idset

import (
	"sync"
	"sync/atomic"
	"testing"
)

// pageBits is the size of a page: 2^12 IDs, 512 bytes while some of them are missing.
const pageBits = 12

// A Set holds IDs, each in one bit. IDs that lie close together take the least memory, and a page
// that is full takes none. The zero Set is empty. Any number of goroutines may use a Set at once.
type Set struct {
	mu    sync.Mutex
	pages map[int64]*page // by ID >> pageBits
	count atomic.Int64
}

type page struct {
	count atomic.Int64
	words atomic.Pointer[[1 << pageBits / 64]atomic.Uint64] // nil: the set has all IDs of the page
}

// Add adds IDs, and returns the IDs that were in the set before. It is fastest for many IDs in
// order.
func (s *Set) Add(ids ...int64) (again []int64) {
	var p *page
	var number int64
	for _, id := range ids {
		if p == nil || id>>pageBits != number {
			number = id >> pageBits
			p = s.page(number)
		}
		if !p.add(id) {
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

func (s *Set) page(number int64) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[number]
	if p == nil {
		p = new(page)
		p.words.Store(new([1 << pageBits / 64]atomic.Uint64))
		if s.pages == nil {
			s.pages = make(map[int64]*page)
		}
		s.pages[number] = p
	}
	return p
}

// add reports whether the ID is new.
func (p *page) add(id int64) bool {
	words := p.words.Load()
	if words == nil {
		return false
	}
	i := id & (1<<pageBits - 1)
	if bit := uint64(1) << (i % 64); words[i/64].Or(bit)&bit != 0 {
		return false
	}
	if p.count.Add(1) == 1<<pageBits {
		p.words.Store(nil)
	}
	return true
}
