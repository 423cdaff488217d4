// Package original is the ring of Baidu's UidGenerator, its algorithm step for step, so that tests
// and benchmarks have something to compare with. Nothing else may use it: it hands out IDs twice.
//
// It holds one ID per slot, and one flag per slot that says whether the slot may be put to or taken
// from. A put checks and sets both under a lock. A take reads cursor, moves it on by one unless it
// has met tail, and concludes from the two values whether it has claimed a slot:
//
//	current := cursor
//	claimed := cursor moved on, unless it equals tail
//	claimed == current: empty
//	flag of claimed is not CanTake: cannot be
//	take the ID, set the flag to CanPut
//
// What is wrong with it. When another taker gets the last ID between the first two lines, cursor
// stays where it is, at the other's slot, but differs from current: the take believes that it has
// claimed that slot. Either it finds the flag already back at CanPut, the case that cannot be, or,
// before the other taker gets so far, it returns the same ID. (Upstream issues 26 and 105.)
//
// Beside that, each ID costs a compare-and-swap, a store to a cache line of its own, and a second
// store and a lock when it is put; and a taker that is paused before it sets the flag stops the
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
// original throws here, and holds that it cannot happen.
var ErrNotReady = errors.New("original: the slot at cursor cannot be taken from")

const (
	canPut  = 0
	canTake = 1

	start = -1 // of cursor and tail
)

// padded is an atomic on a cache line of its own, as the original has them.
type padded struct {
	atomic.Int64
	_ [56]byte
}

// A Ring is safe for use by any number of goroutines, apart from what the package comment says.
type Ring struct {
	slots     []atomic.Int64 // plain words in the original; atomic here so that the race detector accepts them
	flags     []padded
	cursor    padded // index of the slot taken last
	tail      padded // index of the slot put last
	putting   sync.Mutex
	threshold int64
	pad       func()

	// Step, unless nil, is called between the steps of a take. A test that lets other goroutines
	// run there reaches in moments what takes hours otherwise. Set it before the ring is used.
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

// advance moves cursor on by one, unless it has met tail, and returns where it is then.
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
