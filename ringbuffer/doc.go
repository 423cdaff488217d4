// Package ringbuffer is a lock-free ring of blocks, filled by one producer and emptied by any
// number of takers. A block is a range of consecutive IDs that enter the ring together.
//
// Baidu's UidGenerator keeps one ID and one flag per slot. Here a slot holds a block, such as all
// IDs of one unit of time: the next ID to hand out, and the last ID. A ring of 8
// blocks of 8,192 IDs takes a kilobyte instead of five megabytes, and taking an ID costs one atomic
// add.
//
//	          current                 tail
//	             |                      |
//	slots    [ 4…7 ] [ 8…15 ] [ 16…18 ] [ 1…3 ]
//	next        6       8        16        4
//	flag     CanTake  CanTake  CanTake   CanPut
//
// # Ownership
//
// A slot belongs to the producer (CanPut) when its block is used up, next > last, and to the takers
// (CanTake) otherwise. No separate flag is stored. The producer stores a new block into a free
// slot. Blocks are immutable except for next and are never reused, so a pointer to a block is never
// out of date. A call that finds the current block used up makes the block of the following slot
// current, and calls the hand-over func.
//
// # Guarantees
//
//   - Unique: an ID is returned at most once, or retired. Blocks do not overlap, and an atomic add
//     gives each value of next to one caller.
//   - Increasing: Take returns an ID larger than every ID that a Take returned before it began,
//     since current moves on only after a taker has seen next pass last.
//   - Lock-free: a goroutine that is paused at any point delays no other goroutine.
//   - Empty is exact: there was an instant during the call at which the ring had no ID.
//   - Lossless: see [Counts].
//
// The algorithm relies on sequentially consistent atomics, as Go's are, and on no clock and no
// timeout. The model in docs/model is checked exhaustively for small rings.
package ringbuffer
