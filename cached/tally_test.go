package cached_test

import (
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/cached"
)

// A tally accepts each ID once. Any number of goroutines may count. It keeps one bit for each
// (delta, sequence), since a generator uses no delta twice, even when its worker ID changes.
type tally struct {
	t     testing.TB
	g     *cached.Generator
	first int64 // delta
	size  int64 // IDs per block
	bits  []atomic.Uint64
	count atomic.Int64
}

// newTally has room for so many units from the first delta that g, just made, can issue.
func newTally(t testing.TB, g *cached.Generator, sequenceBits uint8, units int64) *tally {
	s, size := g.Stats(), int64(1)<<sequenceBits
	return &tally{
		t: t, g: g, size: size,
		first: s.LastDelta - int64(s.Capacity)/size,
		bits:  make([]atomic.Uint64, units*size/64+1),
	}
}

// add counts IDs of one goroutine, whose last was last, and returns the new last.
func (y *tally) add(last int64, ids ...int64) int64 {
	for _, id := range ids {
		f, err := y.g.Parse(id)
		if err != nil {
			y.t.Errorf("Parse(%d): %v", id, err)
			return id
		}
		if id <= last {
			y.t.Errorf("%d after %d", id, last)
		}
		last = id
		i := (f.Delta-y.first)*y.size + f.Sequence
		if i < 0 || i/64 >= int64(len(y.bits)) {
			y.t.Errorf("ID %v lies outside the %d units that the test has room for", f, int64(len(y.bits))*64/y.size)
			return last
		}
		if bit := uint64(1) << (i % 64); y.bits[i/64].Or(bit)&bit != 0 {
			y.t.Errorf("%v was issued twice", f)
		}
	}
	y.count.Add(int64(len(ids)))
	return last
}
