// Package defaultgen is the ID generator that follows the clock: every ID carries the unit of time
// (1 s unless the layout says otherwise) in which it was issued. It is modelled on
// DefaultUidGenerator of Baidu's UidGenerator, and with [bitsalloc.Snowflake] on Twitter's
// Snowflake. It issues at most 2^SequenceBits IDs per unit; package cached is for higher rates. An
// ID costs one reading of the monotonic clock and one atomic add; [Config].Now documents when the
// generator reads the wall clock.
//
// # Guarantees
//
// IDs are positive, unique and strictly increasing over all callers of one generator, as long as no
// other live generator has the same datacenter and worker ID. This holds for any behaviour of the
// clock while the generator lives. When the clock goes back, [Config].OnClockBack chooses between
// waiting for it and going on; no ID repeats.
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
// of IDs. The shards may be as many as a quarter of 2^SequenceBits, and at most 1,024. A unit
// begins at a sequence number that follows from a hash of its time and worker ID, so the IDs of
// many processes that issue a few each are spread, too. Such a unit gives up less than 3/8 of its
// IDs, and at most 1,534. Under continuous load a unit gives up none: it begins with 0 after a unit
// of the same lease that issued more than half of its numbers. With fewer than 8 sequence bits all
// units begin with 0.
//
// # Across restarts
//
// A new process repeats no ID of an old one if its worker ID is fresh or fenced, even if the clock
// was set back. An unfenced worker ID that comes back is safe only if the clock is not behind the
// last unit in which the old process issued IDs. New treats the current unit as used and waits for
// the next, but does not notice a clock that was set back across the restart. Under the policy GoOn
// IDs can run ahead of the clock, so New refuses such a worker ID unless AllowReuse is set.
package defaultgen
