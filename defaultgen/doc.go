// Package defaultgen is the ID generator that follows the clock: every ID carries the unit of time
// in which it was asked for. It is modelled on DefaultUidGenerator of Baidu's UidGenerator, and
// with [bitsalloc.Snowflake] on Twitter's Snowflake. It issues at most 2^SequenceBits IDs per unit;
// package cached is for higher rates. A take costs one reading of the monotonic clock and one
// atomic add; see [Config].Now for when the wall clock is read.
//
// # What is guaranteed
//
// IDs are positive, unique and strictly increasing over all callers of one generator, as long as no
// other live generator has the same datacenter and worker ID. What the clock does while the
// generator lives does not matter: when it goes back, [Config].OnClockBack decides between an
// error, a wait and going on, never a repeated ID.
//
// # Across restarts
//
// The generator's position is not stored. What keeps a new process above the IDs of the old one is
//
//   - the worker ID, when it is fresh or fenced: whatever the clock did, the IDs differ;
//   - else the clock: an unfenced worker ID that comes back is safe only if the clock is not behind
//     the last unit in which the old process issued IDs. New counts the unit in which it is called
//     as used, and waits for the next. A clock that was set back across the restart is not noticed.
//     With the policy GoOn IDs can run ahead of the clock, so such a worker ID is refused unless
//     AllowReuse is set.
package defaultgen
