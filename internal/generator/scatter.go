package generator

// Scatter maps consecutive n to numbers of bits bits, at most 63, that are spread evenly.
// If all units of time began with sequence number 0 and had few IDs, most IDs would be multiples of
// a power of two, and sharding by ID modulo an even number would leave shards empty. The factor is
// Knuth's for multiplicative hashing, 2^64 / φ.
func Scatter(n int64, bits uint8) int64 {
	return int64(uint64(n) * 0x9e3779b97f4a7c15 >> (64 - bits))
}
