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
	current atomic.Pointer[Block] // the block that takers use; never nil, and never an earlier one again
	_       [cacheLine]byte

	// Written by the producer.
	tail    atomic.Uint64 // index of the next block
	put     atomic.Uint64 // IDs
	retired atomic.Uint64 // IDs
	last    uint64        // the largest ID ever put
}

// New returns an empty ring with a number of slots, a power of two from 2 up, each for a block of
// IDs. When a block is used up and the next one begins, handover, unless nil, is called by the
// taker that found it so, with the number of blocks left: once per block, not per ID. It must not
// block.
func New(slots int, handover func(left int)) (*Ring, error) {
	if slots < 2 || slots&(slots-1) != 0 {
		return nil, fmt.Errorf("%w: %d slots, allowed: a power of two, 2 or more", ErrInvalidSize, slots)
	}
	r := &Ring{slots: make([]atomic.Pointer[Block], slots), handover: handover}
	r.startAt(0)
	return r, nil
}

// startAt makes a used-up block current, after which the block with the index will be put.
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

// advance makes the block after b, which is used up, the current one, unless another goroutine has
// done so. more is false when the ring is empty; moved says that this call has changed current.
func (r *Ring) advance(b *Block) (more, moved bool) {
	next := r.slot(b.index + 1).Load()
	if next == nil || next.index != b.index+1 {
		// The slot has yet to be filled with the next block; then b is current still, and the ring
		// was empty when the slot was looked at. Or it was filled again since; then current has
		// moved on long ago.
		return r.current.Load() != b, false
	}
	return true, r.current.CompareAndSwap(b, next)
}
