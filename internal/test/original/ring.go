// Package original is the ring of Baidu's UidGenerator, its algorithm step for step, for tests and
// benchmarks to compare with. Nothing else may use it: it hands out IDs twice.
//
// It holds one ID per slot, and one flag per slot: CanPut or CanTake. A put checks and sets both
// under a lock. A take reads cursor, moves it on by one unless it has met tail, and concludes from
// the two values whether it has claimed a slot:
//
//	current := cursor
//	claimed := cursor moved on, unless it equals tail
//	claimed == current: empty
//	flag of claimed is not CanTake: cannot be
//	take the ID, set the flag to CanPut
//
// Its defect: when another taker gets the last ID between the first two lines, cursor stays at the
// other taker's slot, but differs from current. So the take believes that it has claimed that slot.
// If the other taker has already set the flag to CanPut, the take meets the case that "cannot be";
// otherwise it returns the same ID. (Upstream issues 26 and 105.)
//
// Its costs: each ID takes a compare-and-swap, a store to a cache line of its own, and a second
// store and a lock when it is put. A taker that is paused before it sets the flag stops the
// producer one round later.
package original

import (
	"errors"
	"sync"
	"sync/atomic"
)

// ErrEmpty is returned by Take when it concludes that the ring is empty.
var ErrEmpty = errors.New("original: ring is empty")

// ErrNotReady is returned by Take when the slot it believes to have claimed holds no ID. The
// original throws an exception here, for a case that it documents as impossible.
var ErrNotReady = errors.New("original: the slot at cursor cannot be taken from")

const (
	canPut  = 0
	canTake = 1

	start = -1 // of cursor and tail
)

// padded is an atomic on a cache line of its own, as in the original.
type padded struct {
	atomic.Int64
	_ [56]byte
}

// A Ring is safe for use by any number of goroutines, except for the defect that the package
// comment describes.
type Ring struct {
	slots     []atomic.Int64 // plain words in the original; atomic here so that the race detector accepts them
	flags     []padded
	cursor    padded // index of the slot taken last
	tail      padded // index of the slot put last
	putting   sync.Mutex
	threshold int64
	pad       func()

	// Step, unless nil, is called between the steps of a take. A test that lets other goroutines
	// run there reproduces in moments errors that otherwise take hours. Set it before the ring is
	// used.
	Step func()
}

// New returns an empty ring of the given number of slots, a power of two. Every Take that leaves
// fewer than threshold IDs calls pad, unless that is nil.
func New(slots, threshold int, pad func()) *Ring {
	r := &Ring{
		slots:     make([]atomic.Int64, slots),
		flags:     make([]padded, slots),
		threshold: int64(threshold),
		pad:       pad,
	}
	r.cursor.Store(start)
	r.tail.Store(start)
	return r
}

func (r *Ring) place(index int64) int64 { return index & int64(len(r.slots)-1) }

// Put adds an ID, or returns false when it finds the ring full.
func (r *Ring) Put(id int64) bool {
	r.putting.Lock()
	defer r.putting.Unlock()
	tail, cursor := r.tail.Load(), r.cursor.Load()
	if tail-max(cursor, 0) == int64(len(r.slots))-1 {
		return false
	}
	next := r.place(tail + 1)
	if r.flags[next].Load() != canPut {
		return false
	}
	r.slots[next].Store(id)
	r.flags[next].Store(canTake)
	r.tail.Add(1)
	return true
}

// Take returns the next ID, or ErrEmpty, or ErrNotReady.
func (r *Ring) Take() (int64, error) {
	current := r.cursor.Load()
	r.step()
	claimed := r.advance()
	tail := r.tail.Load()
	if tail-claimed < r.threshold && r.pad != nil {
		r.pad()
	}
	if claimed == current {
		return 0, ErrEmpty
	}
	place := r.place(claimed)
	if r.flags[place].Load() != canTake {
		return 0, ErrNotReady
	}
	r.step()
	id := r.slots[place].Load()
	r.flags[place].Store(canPut)
	return id, nil
}

// advance moves cursor on by one, unless it has met tail, and returns its value.
func (r *Ring) advance() int64 {
	for {
		old := r.cursor.Load()
		next := old
		if old != r.tail.Load() {
			next++
		}
		if r.cursor.CompareAndSwap(old, next) {
			return next
		}
	}
}

func (r *Ring) step() {
	if r.Step != nil {
		r.Step()
	}
}
