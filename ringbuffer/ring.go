package ringbuffer

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrInvalidSize is returned by [New] for a number of slots that cannot make a ring.
var ErrInvalidSize = errors.New("ringbuffer: invalid size")

// A Ring is filled by one goroutine at a time (Put, Retire, Peek) and emptied by any number of them
// (Take, TakeN, TakeBlock). Make one with [New].
type Ring struct {
	slots    []atomic.Pointer[Block]
	handover func(left int)

	// Read by every take, written once per block.
	_       [cacheLine]byte
	current atomic.Pointer[Block] // the block that takers use; never nil, and its index only grows
	_       [cacheLine]byte

	// Written by the producer.
	tail    atomic.Uint64 // index of the next block
	put     atomic.Uint64 // IDs
	retired atomic.Uint64 // IDs
	last    uint64        // the largest ID put so far
}

// maxSlots bounds the memory of a ring: with more slots, making it could panic or end the process.
const maxSlots = 1 << 24

// New returns an empty ring with the given number of slots, a power of two from 2 to 2^24, each for
// one block; another number gives [ErrInvalidSize]. handover, unless nil, is called once per block,
// not per ID: by the taker that finds a block used up and begins the next one, with the number of
// blocks in the ring including the new one. It must not block.
func New(slots int, handover func(left int)) (*Ring, error) {
	if slots < 2 || slots > maxSlots || slots&(slots-1) != 0 {
		return nil, fmt.Errorf("%w: %d slots, allowed: a power of two from 2 to %d", ErrInvalidSize, slots, maxSlots)
	}
	r := &Ring{slots: make([]atomic.Pointer[Block], slots), handover: handover}
	r.startAt(0)
	return r, nil
}

// startAt makes a used-up block current; the next Put puts the block with the given index.
func (r *Ring) startAt(index uint64) {
	none := &Block{index: index - 1}
	none.next.Store(1)
	r.current.Store(none)
	r.tail.Store(index)
}

// slot returns the slot of an index.
func (r *Ring) slot(index uint64) *atomic.Pointer[Block] {
	return &r.slots[index&uint64(len(r.slots)-1)]
}

// advance makes the block after b current, unless another goroutine has done so; b is used up. more
// is false when the ring is empty; moved is true when this call has changed current.
func (r *Ring) advance(b *Block) (more, moved bool) {
	next := r.slot(b.index + 1).Load()
	if next == nil || next.index != b.index+1 {
		// Either Put has not filled the slot with the next block yet: then b is still current, and
		// the ring was empty when the slot was loaded. Or the slot has been filled again since:
		// then current has moved on.
		return r.current.Load() != b, false
	}
	return true, r.current.CompareAndSwap(b, next)
}
