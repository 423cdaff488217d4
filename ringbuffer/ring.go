package ringbuffer

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// ErrInvalidSize is returned by [New] for a number of slots that cannot make a ring.
var ErrInvalidSize = errors.New("ringbuffer: invalid size")

// A Ring is filled by one goroutine at a time (Put, Retire, Peek) and emptied by any number of them
// (Take, TakeBlock). Make one with [New].
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
// not per ID: by the call that finds a block used up and begins the next one, with the number of
// blocks in the ring including the new one. It must not block.
func New(slots int, handover func(left int)) (*Ring, error) {
	//mutate:number an odd number and itself minus 2 have bit 0 in common
	if slots < 2 || slots > maxSlots || slots&(slots-1) != 0 {
		return nil, fmt.Errorf("%w: %d slots, allowed: a power of two from 2 to %d", ErrInvalidSize, slots, maxSlots)
	}
	r := &Ring{slots: make([]atomic.Pointer[Block], slots), handover: handover}
	none := &Block{index: math.MaxUint64} // used up; Put begins with index 0
	//mutate:number,swap any value above last will do; no other goroutine has the block yet
	none.next.Store(1)
	r.current.Store(none)
	return r, nil
}

// slot returns the slot of an index.
func (r *Ring) slot(index uint64) *atomic.Pointer[Block] {
	return &r.slots[index&uint64(len(r.slots)-1)]
}

// next makes the block after b current, unless another goroutine has done so; b is used up. It
// returns false when the ring is empty.
func (r *Ring) next(b *Block) bool {
	next := r.slot(b.index + 1).Load()
	if next == nil || next.index != b.index+1 {
		// Either Put has not filled the slot with the next block yet: then b is still current, and
		// the ring was empty when the slot was loaded. Or the slot has been filled again since:
		// then current has moved on.
		return r.current.Load() != b
	}
	if r.current.CompareAndSwap(b, next) && r.handover != nil {
		//mutate:argument the sides differ only while a Put is between its stores
		r.handover(int(min(r.tail.Load()-next.index, uint64(len(r.slots)))))
	}
	return true
}

// cacheLine, in bytes, keeps written words apart from words that other goroutines read. A line has
// 64 bytes on amd64 and most arm64. On CPUs with larger lines, false sharing costs time, not
// correctness.
const cacheLine = 64

// A Block is a range of consecutive IDs in a [Ring]. Put makes it and it is never reused, so a
// pointer to it never becomes a pointer to another block, however long a goroutine that has it is
// paused. All methods may be called by any number of goroutines at once.
//
// next is written for every ID. The other words never change and have a cache line of their own:
// beside next, a taker would wait for the line a second time.
type Block struct {
	next atomic.Uint64 // the ID that the next take gets; above last when the block is used up
	_    [cacheLine - 8]byte

	last  uint64
	index uint64 // counts the blocks put into the ring: the slot is index modulo slots
	total uint64 // IDs put into the ring up to last
	_     [cacheLine - 24]byte
}

// Take returns the next ID of the block, or false when the block is used up; [Ring.Take] then goes
// on with the following block. Most IDs take no more than this: one load of the current block, one
// add, one comparison.
//
// IDs are unique: the add gives each value of next to one caller, and no other block has the ID.
// IDs increase: a take that begins after another take has returned loads the same block, and adds
// later, or loads a later block with higher IDs. A caller may pause at any point: no other caller
// waits for it, and its block does not change.
func (b *Block) Take() (id int64, ok bool) {
	x := b.next.Add(1) - 1
	return int64(x), x <= b.last
}

// left returns how many IDs the block still has.
func (b *Block) left() uint64 { return b.last + 1 - min(b.next.Load(), b.last+1) }

// maxTake bounds a single add. next cannot overflow unless millions of takers are within an add at
// once.
const maxTake = 1 << 40

// take takes up to n consecutive IDs, or none if the block is used up.
func (b *Block) take(n uint64) (first, got uint64) { return b.add(min(n, b.left(), maxTake)) }

// add is the rest of take. Others may have used up the block since take has looked, so the add may
// reach beyond last. That loses no ID, since the block is not reused.
func (b *Block) add(n uint64) (first, got uint64) {
	first = b.next.Add(n) - n
	return first, min(n, b.last+1-min(first, b.last+1))
}

// retire drops the IDs up to last and returns their number.
func (b *Block) retire(last uint64) (n uint64) {
	for {
		x, end := b.next.Load(), min(b.last, last)+1
		if x >= end { //mutate:operator on equality next is set to its own value and 0 are dropped
			return 0
		}
		if b.next.CompareAndSwap(x, end) {
			return end - x
		}
	}
}

// Current returns the block that takers use now, for callers that want its Take inlined:
//
//	id, ok := ring.Current().Take()
//	if !ok {
//		id, ok = ring.Take()
//	}
func (r *Ring) Current() *Block { return r.current.Load() }

// Take returns the oldest ID in the ring, or false when the ring is empty. It never waits.
func (r *Ring) Take() (id int64, ok bool) {
	for {
		b := r.current.Load()
		if id, ok := b.Take(); ok {
			return id, true
		}
		if !r.next(b) {
			return 0, false
		}
	}
}

// TakeBlock takes up to n consecutive IDs, from first to first+got-1; got is less than n if the
// block ends before. It returns false when the ring is empty or n is less than 1.
func (r *Ring) TakeBlock(n int) (first int64, got int, ok bool) {
	if n < 1 {
		return 0, 0, false
	}
	for {
		b := r.current.Load()
		if x, got := b.take(uint64(n)); got > 0 {
			return int64(x), int(got), true
		}
		if !r.next(b) {
			return 0, 0, false
		}
	}
}

// Empty reports whether the ring has no ID, for takers. It is exact as a take is: if it returns
// true, the ring was empty at an instant of the call, and if false, it had an ID.
func (r *Ring) Empty() bool { return r.oldest() == nil }

// Put adds the block of the IDs from first to last, or returns false when no slot is free. One
// goroutine at a time may call Put, Retire and Peek. first must be above 0 and above all IDs put
// before, and last must not be below first; otherwise Put panics, since overlapping blocks would
// repeat IDs.
func (r *Ring) Put(first, last int64) bool {
	if first <= int64(r.last) || last < first {
		panic(fmt.Sprintf("bug: ringbuffer: Put(%d, %d) after %d", first, last, r.last))
	}
	if r.Free() == 0 {
		return false
	}
	index, n := r.tail.Load(), uint64(last-first)+1
	b := &Block{last: uint64(last), index: index, total: r.put.Load() + n}
	b.next.Store(uint64(first))
	r.last = uint64(last)
	r.put.Store(b.total) //mutate:swap only Counts tells the order, for an instant
	//mutate:swap only handover reads tail, for its number of blocks
	r.slot(index).Store(b) // hands the block over
	r.tail.Store(index + 1)
	return true
}

// Free returns the number of free slots, for the producer: in another goroutine it may be too high
// during a Put. Takers can only increase it.
//
// The slot of a block is free when the block is used up, next > last. So a taker that pauses after
// it has taken the last ID does not keep the slot. All blocks before the current block are used up.
func (r *Ring) Free() int {
	b := r.current.Load()
	used := r.tail.Load() - b.index
	if b.left() == 0 {
		used--
	}
	return len(r.slots) - int(used)
}

// Retire drops the IDs up to last, and returns the number of IDs dropped, at most the largest int.
// With math.MaxInt64 it drops all. A take in progress may still return one of these IDs; a take
// that begins later does not. One goroutine at a time may call Put, Retire and Peek.
func (r *Ring) Retire(last int64) (n int) {
	end := uint64(max(last, 0))
	// Only IDs of the current block are dropped: takers find the next block through it.
	for b := r.oldest(); b != nil; b = r.oldest() {
		dropped := b.retire(end)
		r.retired.Add(dropped)
		n = int(min(uint64(n)+dropped, math.MaxInt)) //mutate:argument for 32 bits
		if b.last > end {
			break
		}
	}
	return n
}

// Peek returns the oldest ID in the ring without taking it, or 0 when the ring is empty. A taker
// may take the ID meanwhile. One goroutine at a time may call Put, Retire and Peek.
func (r *Ring) Peek() int64 {
	for b := r.oldest(); b != nil; b = r.oldest() {
		if x := b.next.Load(); x <= b.last { //mutate:true takers use the block up only between the two loads
			return int64(x)
		}
	}
	return 0
}

// oldest makes the oldest block that has IDs the current block, and returns it, or nil when the
// ring is empty.
func (r *Ring) oldest() *Block {
	for {
		b := r.current.Load()
		if b.left() > 0 {
			return b
		}
		if !r.next(b) {
			return nil
		}
	}
}

// Counts accounts for the IDs put into a ring since New:
//
//	Put = Issued + Retired + Remaining
type Counts struct {
	Put       uint64
	Issued    uint64 // returned by Take and TakeBlock
	Retired   uint64 // dropped by Retire
	Remaining uint64 // in the ring
}

// Counts derives the counts from the words of the ring, so that no take has to count. It is exact
// during concurrent takes, which count from their add on, and during Put. During Retire it may be
// off by the IDs dropped meanwhile.
func (r *Ring) Counts() Counts {
	//mutate:swap the order tells only beside a Put and a Retire
	c := Counts{Put: r.put.Load(), Retired: r.retired.Load()}
	// If takers have gone on to another block since this load, this block has no IDs left, as at
	// the instant at which they went on.
	b := r.current.Load()
	//mutate:argument the sides differ only while a Put is between its stores
	c.Remaining = c.Put - min(b.total-b.left(), c.Put)
	c.Issued = c.Put - min(c.Retired+c.Remaining, c.Put) //mutate:argument the sides differ only during a Retire
	return c
}

// Len returns the number of IDs in the ring, at most the largest int. During concurrent calls it is
// the number at some instant of the call.
func (r *Ring) Len() int {
	return int(min(r.Counts().Remaining, math.MaxInt)) //mutate:argument for 32 bits
}

// Slots returns the number of slots.
func (r *Ring) Slots() int { return len(r.slots) }
