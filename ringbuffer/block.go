package ringbuffer

import "sync/atomic"

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
func (b *Block) take(n uint64) (first, got uint64) {
	n = min(n, b.left(), maxTake)
	if n == 0 {
		return 0, 0
	}
	return b.add(n)
}

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
		if x >= end {
			return 0
		}
		if b.next.CompareAndSwap(x, end) {
			return end - x
		}
	}
}
