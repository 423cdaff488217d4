// Package cached is the ID generator for high rates: a ring of prepared IDs, filled in the
// background. It is modelled on CachedUidGenerator of Baidu's UidGenerator.
//
//	                padding goroutine
//	lastSecond+1 ->  compose a block -> ring: [block][block][block] -> Next, one atomic add
//	                 ^                        |
//	                 |     at most PaddingFactor percent left
//	                 +------------------------+
//
// No clock is read for an ID. The padding goroutine counts units of time forward from the moment
// the generator was made: under load the IDs run ahead of the clock ("borrow from the future"),
// when idle they fall behind and are brought forward. [Config].MaxAhead and MaxStaleness bound
// both.
//
// # What is guaranteed
//
//   - Unique: an ID is returned once, by any method, to any caller, as long as no other live
//     generator has the same datacenter and worker ID. Where the worker ID comes from decides how
//     far that can be relied on: see package assigner. No assumption about the clock is made while
//     the generator lives.
//   - Increasing: with a single stream, an ID is larger than every ID that was returned before the
//     call for it began, whoever got those.
//   - Positive: an ID is never 0 or negative. When the delta field is used up, [ErrTimeExhausted]
//     is returned.
//
// # Lanes
//
// A single stream is a counter that all CPUs share. Where that is too slow, [Config].Lanes gives
// each CPU a unit of time to count through by itself, and [Generator.Lane] each goroutine that asks
// for one; a [Generator.Fill] or [Generator.Reserve] takes many IDs of the stream at once. IDs are
// unique across all of these. They increase within a lane, but a goroutine that is moved to another
// CPU may see a smaller one than before: lanes are apart by as much as the units in their hands.
//
// A lane of a CPU relies on the runtime's procPin, as sync.Pool does. The build tag uidring_nopin
// replaces it by a mutex per lane, for a Go release that closes procPin to other modules. The
// guarantees stay the same, and Next takes longer.
//
// # Low bits
//
// An ID modulo a number of shards is spread as evenly as counting spreads it, from a busy generator
// to one that issues an ID a day: after a pause the next block begins with the sequence number
// after the last one issued. That does not reach across processes: each begins with 0. Where many
// processes issue a few IDs each, shard by a hash of the ID.
//
// # What is not
//
// The time in an ID is not the time of the call: it lies between MaxStaleness before and MaxAhead,
// which is unbounded unless set, after it, by the clock of New. The lower bound holds while the
// scheduler runs the padding goroutine. With all CPUs busy taking IDs, callers do most of the
// padding. Numbers are skipped at restarts, when stale IDs are dropped, and at Close. An ID does
// not hide how many were issued.
//
// A machine that is suspended stops the monotonic clock: afterwards IDs lag behind by as long as it
// slept.
package cached
