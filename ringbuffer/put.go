package ringbuffer

import "fmt"

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
	r.put.Store(b.total)
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

// Retire drops the IDs up to last, and returns the number of IDs dropped. With math.MaxInt64 it
// drops all. A take in progress may still return one of these IDs; a take that begins later does
// not. One goroutine at a time may call Put, Retire and Peek.
func (r *Ring) Retire(last int64) (n int) {
	end := uint64(max(last, 0))
	// Only IDs of the current block are dropped: takers find the next block through it.
	for b := r.oldest(); b != nil; b = r.oldest() {
		dropped := b.retire(end)
		r.retired.Add(dropped)
		n += int(dropped)
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
		if x := b.next.Load(); x <= b.last {
			return int64(x)
		}
	}
	return 0
}

// oldest makes the oldest block that has IDs the current block, and returns it, or nil when the
// ring is empty. It does not call the hand-over func: the producer, which calls oldest, checks the
// free slots itself.
func (r *Ring) oldest() *Block {
	for {
		b := r.current.Load()
		if b.left() > 0 {
			return b
		}
		if more, _ := r.advance(b); !more {
			return nil
		}
	}
}
