package ringbuffer

import "sync/atomic"

// cacheLine keeps words that are written apart from words that others read. 64 bytes is a line on
// amd64 and most arm64; where lines are larger a false share costs time, not correctness.
const cacheLine = 64

// A Block is a range of consecutive IDs on its way through a [Ring]. Put makes it and nothing ever
// uses it again, so a pointer to it never becomes a pointer to another block, however long its
// holder is paused.
//
// next is written for every ID. The other words never change, and have a cache line of their own:
// beside next, a taker would wait for the line a second time.
type Block struct {
	next atomic.Uint64 // the ID that the next take gets; above last when the block is used up
	_    [cacheLine - 8]byte

	last  uint64
	index uint64 // of all blocks put into the ring: the slot is index modulo slots
	total uint64 // IDs put into the ring up to last
	_     [cacheLine - 24]byte
}

// Take returns the next ID of the block, or false when the block is used up; [Ring.Take] then goes
// on with the block that follows. This is the whole path of most IDs: one load of the current
// block, one add, one comparison.
//
// The add gives each value of next to one caller, and no other block has the ID: IDs are unique. A
// take that begins after another one has returned loads the same block, where its add comes later,
// or a later block, which begins above: IDs increase. A caller may pause at any point: it holds
// nothing that others wait for, and its block stays as it is.
func (b *Block) Take() (id int64, ok bool) {
	x := b.next.Add(1) - 1
	return int64(x), x <= b.last
}

// left returns how many IDs the block still has.
func (b *Block) left() uint64 { return b.last + 1 - min(b.next.Load(), b.last+1) }

// maxTake bounds a single add: next cannot overflow before as many takers as no machine has are in
// one.
const maxTake = 1 << 40

// take takes up to n consecutive IDs, none from a block that is used up. The add may reach beyond
// last, where nothing is lost, since the block is not used again.
func (b *Block) take(n uint64) (first, got uint64) {
	n = min(n, b.left(), maxTake)
	if n == 0 {
		return 0, 0
	}
	first = b.next.Add(n) - n
	return first, min(n, b.last+1-min(first, b.last+1))
}

// retire drops the IDs up to last and returns how many there were.
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
