// Package count takes IDs from a generator with many goroutines and counts each ID in a bitmap. It
// finds duplicates, IDs out of order and IDs of another worker.
package count

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
)

// The errors of a Stream. The text names the ID.
var (
	ErrDuplicate = errors.New("duplicate")
	ErrOrder     = errors.New("order violated")
	ErrForeign   = errors.New("foreign worker")
	ErrOutside   = errors.New("outside the layout")
	ErrLate      = errors.New("too late to tell from a duplicate")
)

// A Checker counts every ID of a generator in bitmaps: one for each worker ID that the generator
// had.
type Checker struct {
	alloc      *bitsalloc.Allocator
	datacenter int64
	base       int64        // the delta of bit 0
	span       uint64       // number of deltas above base
	holder     func() int64 // returns the generator's current worker ID

	sequenceBits, deltaShift uint8
	whoMask                  int64 // datacenter and worker

	mu      sync.Mutex
	workers map[int64]*bitmap
}

// NewChecker returns a checker for IDs from first on. It has not counted first yet.
func NewChecker(alloc *bitsalloc.Allocator, first bitsalloc.Fields, holder func() int64) *Checker {
	l := alloc.Layout()
	shift := l.DatacenterBits + l.WorkerBits + l.SequenceBits
	return &Checker{
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

// bitmap returns the bitmap of an ID's worker ID. It fails unless the generator has, or had, that
// worker ID.
func (c *Checker) bitmap(f bitsalloc.Fields) (*bitmap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.workers[f.WorkerID]
	if f.DatacenterID != c.datacenter || b == nil && f.WorkerID != c.holder() {
		return nil, fmt.Errorf("%w: ID %v, but the generator has datacenter %d and worker %d",
			ErrForeign, f, c.datacenter, c.holder())
	}
	if b == nil {
		b = newBitmap()
		c.workers[f.WorkerID] = b
	}
	return b, nil
}

// Totals returns the number of IDs counted and the peak memory of the bitmaps.
func (c *Checker) Totals() (ids, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.workers {
		ids += b.count()
		bytes += b.peakBytes()
	}
	return ids, bytes
}

// A Stream counts the IDs of one goroutine. Only that goroutine may use it.
type Stream struct {
	checker   *Checker
	goroutine int
	Unordered bool  // IDs need not increase
	Last      int64 // IDs have to be larger, unless Unordered

	who    int64   // datacenter and worker bits of bitmap
	bitmap *bitmap // nil: none yet
	number uint64  // of chunk in bitmap
	chunk  *chunk  // nil: none yet
	ids    []int64 // of a range
}

// Stream returns a Stream for a goroutine, whose number errors name.
func (c *Checker) Stream(goroutine int) *Stream {
	return &Stream{checker: c, goroutine: goroutine, who: -1}
}

// Record counts IDs in the order in which the goroutine took them. It gathers the bits of a word
// before it writes to the bitmap, since most IDs are consecutive.
func (s *Stream) Record(ids []int64) error {
	c := s.checker
	word, mask := uint64(0), uint64(0)
	for _, id := range ids {
		if id <= s.Last && !s.Unordered {
			return s.misorder(id)
		}
		s.Last = id
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

// RecordRange counts n consecutive IDs of one unit, from first on.
func (s *Stream) RecordRange(first int64, n int) error {
	c := s.checker
	last := first + int64(n) - 1
	if n < 1 || last>>(c.sequenceBits&63) != first>>(c.sequenceBits&63) {
		return fmt.Errorf("%w: goroutine %d got %d IDs from %v on, allowed: at least 1, all in one unit",
			ErrOutside, s.goroutine, n, c.describe(first))
	}
	s.ids = s.ids[:0]
	for id := first; id <= last; id++ {
		s.ids = append(s.ids, id)
	}
	return s.Record(s.ids)
}

// place returns the delta of an ID above the base, and the number of its bit.
func (c *Checker) place(id int64) (units, bit uint64) {
	units = uint64(id>>(c.deltaShift&63) - c.base)
	return units, units<<(c.sequenceBits&63) | uint64(id)&(1<<(c.sequenceBits&63)-1)
}

func (s *Stream) misorder(id int64) error {
	c := s.checker
	return fmt.Errorf("%w: goroutine %d got %v after %v", ErrOrder, s.goroutine, c.describe(id), c.describe(s.Last))
}

// enter checks an ID that begins a new word, and selects the bitmap of its worker ID.
func (s *Stream) enter(id int64, units uint64) error {
	c := s.checker
	if id&c.whoMask == s.who && units <= c.span {
		return nil
	}
	f, err := c.alloc.Parse(id)
	if err == nil && units > c.span {
		err = fmt.Errorf("it is below the first ID, with delta %d", c.base)
	}
	if err != nil {
		return fmt.Errorf("%w: goroutine %d got %v: %w", ErrOutside, s.goroutine, c.describe(id), err)
	}
	if s.bitmap, err = c.bitmap(f); err != nil {
		return err
	}
	s.who, s.chunk = id&c.whoMask, nil
	return nil
}

// flush sets the bits of mask in a word, numbered from the start of the bitmap.
func (s *Stream) flush(word, mask uint64) error {
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
		return fmt.Errorf("%w: goroutine %d got %v after %d MiB of later IDs",
			ErrLate, s.goroutine, id, maxChunks*ChunkBytes>>20)
	}
	return fmt.Errorf("%w: goroutine %d got %v, which was issued before", ErrDuplicate, s.goroutine, id)
}

// idOf returns the ID of a bit in the selected bitmap.
func (s *Stream) idOf(bit uint64) int64 {
	c := s.checker
	delta := int64(bit>>c.sequenceBits) + c.base
	return delta<<c.deltaShift | s.who | int64(bit&(1<<c.sequenceBits-1))
}

// describe returns the fields of an ID for an error text, or the ID if it has none.
func (c *Checker) describe(id int64) any {
	if f, err := c.alloc.Parse(id); err == nil {
		return f
	}
	return id
}
