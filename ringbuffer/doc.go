// Package ringbuffer is a lock-free ring of blocks, each a range of consecutive IDs, filled by one
// producer and emptied by any number of takers.
//
// Baidu's UidGenerator keeps one ID and one flag per slot. Here a slot holds a block, such as all
// IDs of one unit of time, as two words: the next ID to hand out, and the last one. A ring of 8
// blocks of 8,192 IDs takes a kilobyte instead of five megabytes, and taking an ID costs one atomic
// add.
//
//	          current                 tail
//	             |                      |
//	slots    [ 4…7 ] [ 8…15 ] [ 16…18 ] [ 1…3 ]
//	next        6       8        16        4
//	flag     CanTake  CanTake  CanTake   CanPut
//
// Ownership. A slot's flag is whether its block is used up, next > last: then the slot belongs to
// the producer (CanPut), else to the takers (CanTake). The producer stores a new block into a slot
// that it finds free; blocks never change but for next, and are never used again, so that no
// pointer to one is ever out of date. A taker that finds the current block used up makes the block
// of the following slot the current one, and reports that.
//
// What holds. Every ID put is returned once at most, or retired: blocks do not overlap, and an
// atomic add gives each value of next to one caller. IDs come out strictly increasing: what a Take
// returns is larger than what any Take returned before it began, since current moves on only when a
// taker has seen next pass last. A goroutine that is paused, at any point, holds up no other: there
// is no step that others wait for. Empty is exact: there was an instant during the call at which
// the ring had no ID. Nothing is lost: see [Counts].
//
// The proof obligations are those of sequentially consistent atomics, which Go's are. No clock and
// no timeout takes part. docs/model checks the algorithm exhaustively.
package ringbuffer
