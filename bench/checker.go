package main

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
)

// What the check finds. Each comes in a text that names the ID.
var (
	errDuplicate = errors.New("duplicate")
	errOrder     = errors.New("order violated")
	errForeign   = errors.New("foreign worker")
	errOutside   = errors.New("outside the run")
	errLate      = errors.New("too late to be told from a duplicate")
)

// A checker counts every ID of a run in bitmaps, one for each worker ID that the generator had.
type checker struct {
	alloc      *bitsalloc.Allocator
	datacenter int64
	base       int64        // the delta that bit 0 belongs to
	span       uint64       // of deltas above base
	holder     func() int64 // the generator's worker ID at present

	sequenceBits, deltaShift uint8
	whoMask                  int64 // datacenter and worker

	mu      sync.Mutex
	workers map[int64]*bitmap
}

// newChecker returns a checker for IDs from first on, which is not counted yet.
func newChecker(alloc *bitsalloc.Allocator, first bitsalloc.Fields, holder func() int64) *checker {
	l := alloc.Layout()
	shift := l.DatacenterBits + l.WorkerBits + l.SequenceBits
	return &checker{
		alloc:        alloc,
		datacenter:   first.DatacenterID,
		base:         first.Delta,
		span:         uint64(alloc.MaxDelta() - first.Delta),
		holder:       holder,
		sequenceBits: l.SequenceBits,
		deltaShift:   shift,
		whoMask:      1<<shift - 1<<l.SequenceBits,
		workers:      map[int64]*bitmap{first.WorkerID: newBitmap()},
	}
}

// bitmap returns the bitmap for the worker of an ID, which has to be the generator's.
func (c *checker) bitmap(f bitsalloc.Fields) (*bitmap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.workers[f.WorkerID]
	if f.DatacenterID != c.datacenter || b == nil && f.WorkerID != c.holder() {
		return nil, fmt.Errorf("%w: ID %v, but the generator has datacenter %d and worker %d",
			errForeign, f, c.datacenter, c.holder())
	}
	if b == nil {
		b = newBitmap()
		c.workers[f.WorkerID] = b
	}
	return b, nil
}

// totals returns how many IDs were counted, and the most memory that this took.
func (c *checker) totals() (ids, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.workers {
		ids += b.count()
		bytes += b.peakBytes()
	}
	return ids, bytes
}

// A stream is what one goroutine has got from the generator. Only that goroutine uses it.
type stream struct {
	checker   *checker
	goroutine int
	unordered bool // the IDs of the goroutine need not increase
	last      int64

	who    int64   // datacenter and worker bits of the IDs in bitmap
	bitmap *bitmap // nil: none yet
	number uint64  // of chunk in bitmap
	chunk  *chunk  // nil: none yet
}

func (c *checker) stream(goroutine int) *stream {
	return &stream{checker: c, goroutine: goroutine, who: -1}
}

// record counts IDs in the order in which the goroutine got them. It gathers the bits of a word before it
// touches the bitmap, since IDs are mostly consecutive.
func (s *stream) record(ids []int64) error {
	c := s.checker
	word, mask := uint64(0), uint64(0)
	for _, id := range ids {
		if id <= s.last && !s.unordered {
			return s.misorder(id)
		}
		s.last = id
		units, bit := c.place(id)
		if bit>>6 != word || id&c.whoMask != s.who || units > c.span {
			if err := s.flush(word, mask); err != nil {
				return err
			}
			if err := s.enter(id, units); err != nil {
				return err
			}
			word, mask = bit>>6, 0
		}
		mask |= 1 << (bit & 63)
	}
	return s.flush(word, mask)
}

// recordRange counts n IDs from first on.
func (s *stream) recordRange(first int64, n int) error {
	c := s.checker
	last := first + int64(n) - 1
	if first <= s.last && !s.unordered {
		return s.misorder(first)
	}
	if n < 1 || last>>(c.sequenceBits&63) != first>>(c.sequenceBits&63) {
		return fmt.Errorf("%w: goroutine %d got %d IDs from %v on, more than one unit of time has left",
			errOutside, s.goroutine, n, c.describe(first))
	}
	s.last = last
	units, bit := c.place(first)
	if err := s.enter(first, units); err != nil {
		return err
	}
	for left := uint64(n); left > 0; {
		part := min(left, 64-bit&63)
		if err := s.flush(bit>>6, (1<<part-1)<<(bit&63)); err != nil {
			return err
		}
		bit += part
		left -= part
	}
	return nil
}

// place returns how many units an ID lies above the base, and its number in the bitmap.
func (c *checker) place(id int64) (units, bit uint64) {
	units = uint64(id>>(c.deltaShift&63) - c.base)
	return units, units<<(c.sequenceBits&63) | uint64(id)&(1<<(c.sequenceBits&63)-1)
}

func (s *stream) misorder(id int64) error {
	c := s.checker
	return fmt.Errorf("%w: goroutine %d got %v after %v", errOrder, s.goroutine, c.describe(id), c.describe(s.last))
}

// enter checks an ID that begins a new word, and turns to its worker.
func (s *stream) enter(id int64, units uint64) error {
	c := s.checker
	if id&c.whoMask == s.who && units <= c.span {
		return nil
	}
	f, err := c.alloc.Parse(id)
	if err == nil && units > c.span {
		err = fmt.Errorf("it is not after the first ID of the run, with delta %d", c.base)
	}
	if err != nil {
		return fmt.Errorf("%w: goroutine %d got %v: %w", errOutside, s.goroutine, c.describe(id), err)
	}
	if s.bitmap, err = c.bitmap(f); err != nil {
		return err
	}
	s.who, s.chunk = id&c.whoMask, nil
	return nil
}

// flush marks the bits of mask in a word, numbered from the start of the bitmap.
func (s *stream) flush(word, mask uint64) error {
	if mask == 0 {
		return nil
	}
	const wordBits = chunkBits - 6
	if number := word >> wordBits; s.chunk == nil || number != s.number {
		s.number, s.chunk = number, s.bitmap.chunk(number)
	}
	twice := s.bitmap.mark(s.chunk, int(word&(1<<wordBits-1)), mask)
	if twice == 0 {
		return nil
	}
	id := s.checker.describe(s.idOf(word<<6 + uint64(bits.TrailingZeros64(twice))))
	if s.chunk.words.Load() == nil && !s.chunk.full() {
		return fmt.Errorf("%w: goroutine %d got %v, when %d MiB of later IDs had been counted",
			errLate, s.goroutine, id, maxChunks*chunkBytes>>20)
	}
	return fmt.Errorf("%w: goroutine %d got %v, which was issued before", errDuplicate, s.goroutine, id)
}

// idOf returns the ID that a bit of the present bitmap stands for.
func (s *stream) idOf(bit uint64) int64 {
	c := s.checker
	delta := int64(bit>>c.sequenceBits) + c.base
	return delta<<c.deltaShift | s.who | int64(bit&(1<<c.sequenceBits-1))
}

// describe takes an ID apart for an error text, as far as that goes.
func (c *checker) describe(id int64) any {
	if f, err := c.alloc.Parse(id); err == nil {
		return f
	}
	return id
}
