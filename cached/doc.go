// Package cached is the ID generator for high rates: a ring of prepared IDs, filled in the
// background. It is modelled on CachedUidGenerator of Baidu's UidGenerator.
//
// The ring holds blocks. A block is all IDs of one unit of time (1 s unless the layout says
// otherwise) and one worker ID: consecutive numbers that enter the ring together.
//
//	                padding goroutine
//	lastSecond+1 ->  compose a block -> ring: [block][block][block] -> Next, one atomic add
//	                 ^                        |
//	                 |     at most PaddingFactor percent left
//	                 +------------------------+
//
// Issuing an ID reads no clock. The padding goroutine puts new blocks into the ring ahead of use
// and counts units of time forward from the moment at which New was called. Under load the IDs run
// ahead of the clock ("borrow from the future"). When the generator is idle they fall behind, and
// the padding goroutine brings them forward. [Config].MaxAhead and MaxStaleness bound both.
//
// # Guarantees
//
//   - Unique: an ID is returned once, by any method, to any caller, as long as no [Lane] is copied
//     or used by two goroutines at once, and no other live generator has the same datacenter and
//     worker ID. The source of the worker ID decides how far that condition can be relied on: see
//     package assigner. While the generator lives, uniqueness does not depend on the clock.
//   - Increasing: the stream is the single, strictly increasing sequence of a generator. Lanes
//     aside, an ID is larger than every ID that any caller got before the call for it began.
//   - Positive: an ID is never 0 or negative. When the delta field is used up, [ErrTimeExhausted]
//     is returned.
//
// # Lanes
//
// The stream is a counter that all CPUs share. A [Lane] is faster: it is a block that one goroutine
// uses up alone. [Generator.Fill] and [Generator.Reserve] take many IDs of the stream in one call.
//
// # Leases, fences and windows
//
// A lease is the right to a worker ID for a range of deltas (numbers of units since the epoch),
// which the generator renews in the background. The fence of a worker ID is the highest delta that
// its holder may use, or that earlier holders have used; a later holder starts above it. The window
// is how far ahead of use the lease reaches: the generator issues IDs for that much ID time without
// the store.
//
// # Low bits
//
// IDs modulo a number of shards are spread as evenly as chance spreads them or better, at any rate
// from an ID a day up. The shards may be as many as a quarter of 2^SequenceBits, and at most 1,024;
// for more, shard by a hash of the ID. The first block of a process and a lane, and the block after
// a pause or after dropped IDs, begin at a sequence number that follows from a hash of the time and
// the worker ID. So the IDs of many processes that issue a few each are spread, too. Such a block
// gives up less than 3/8 of its IDs, and at most 1,534. No other block gives up any. With fewer
// than 8 sequence bits all blocks begin with 0, and IDs issued at a low rate crowd on a few shards.
//
// # Limits
//
// The time in an ID is not the time of the call. It may be up to MaxStaleness earlier or MaxAhead
// later, by the clock of New; MaxAhead is unbounded unless set. The lower bound holds while the
// scheduler runs the padding goroutine. Sequence numbers are skipped at restarts, when stale IDs
// are dropped, after that, and at Close. An ID does not hide how many were issued.
//
// Suspending the machine stops the monotonic clock: afterwards IDs lag behind by the time
// suspended. In a process that the platform freezes between requests (Lambda, Cloud Run), the first
// IDs after a freeze are as old as the freeze plus up to MaxStaleness. Use package defaultgen
// there.
package cached
