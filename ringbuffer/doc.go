// Package ringbuffer is a lock-free ring of runs: slots that each hold a block of consecutive IDs,
// filled by one producer and emptied by any number of takers.
//
// Baidu's UidGenerator keeps one ID and one flag per slot. Here a slot holds a run, the whole
// sequence space of one unit of time, as a single word, the next ID to hand out. A ring of 8 runs
// of 8,192 IDs takes half a kilobyte instead of five megabytes, and taking an ID costs one atomic add.
//
//	          cursor                     tail
//	            |                         |
//	slots   [ used up ] [ next 8195 ] [ next 16384 ] [ used up ]
//	flags   [    0    ] [     1     ] [      2     ] [    0    ]      the run's number, first ID >> runBits
//	        CanPut       CanTake       CanTake        CanPut
//
// Ownership. Slots whose index lies in [cursor, tail) belong to the takers (CanTake), all others to
// the producer (CanPut). The producer writes next, then the flag, then tail: that hands the slot
// over. The taker that moves cursor past a used-up slot hands it back, and reports the hand-over.
//
// What holds. Every ID put is returned once at most: run numbers only grow, an atomic add gives each value
// of next to one caller, and a caller keeps only a value of the run it saw to be current. IDs come
// out strictly increasing: what a Take returns is larger than what any Take returned before it began. A
// taker that is paused, at any point, holds up nobody. Nothing is lost unaccounted; see [Counts].
//
// The proof obligations are those of sequentially consistent atomics, which Go's are. No clock and
// no timeout takes part.
package ringbuffer
