package generator

import "math/bits"

// Scatter returns the sequence number with which a unit begins after a pause. first is the unit's
// ID with sequence number 0, and width the number of sequence bits. If all units began with 0 and
// had few IDs, most IDs would be multiples of a power of two, and sharding by ID modulo an even
// number would leave shards empty. The sum of a number below a quarter of 2^width and a number
// below an eighth is even for moduli up to a quarter; one number is not for moduli close to its
// bound. Both come from a hash, since a sequence in step with the time could also be in step with
// the calls. The hash is SplitMix64's.
//
// A unit gives up less than 3/8 of its IDs, and at most 1,534. A unit with fewer than 8 bits has
// too few IDs to give some up, and begins with 0.
func Scatter(first int64, width uint8) int64 {
	if width < 8 {
		return 0
	}
	h := uint64(first)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	unused := 64 - min(width, 12)
	return int64(h>>unused>>2 + bits.RotateLeft64(h, 32)>>unused>>3)
}
