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
		if id <= s.last {
			return fmt.Errorf("%w: goroutine %d got %v after %v", errOrder, s.goroutine, c.describe(id), c.describe(s.last))
		}
		s.last = id
		units := uint64(id>>(c.deltaShift&63) - c.base)
		bit := units<<(c.sequenceBits&63) | uint64(id)&(1<<(c.sequenceBits&63)-1)
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
		chunk, err := s.bitmap.chunk(number)
		if err != nil {
			return err
		}
		s.number, s.chunk = number, chunk
	}
	if twice := s.bitmap.mark(s.chunk, int(word&(1<<wordBits-1)), mask); twice != 0 {
		return fmt.Errorf("%w: goroutine %d got %v, which was issued before",
			errDuplicate, s.goroutine, s.checker.describe(s.idOf(word<<6+uint64(bits.TrailingZeros64(twice)))))
	}
	return nil
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
