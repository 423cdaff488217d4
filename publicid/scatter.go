package publicid

import "github.com/uidring/uidring"

const idBits = 63

// Scatter moves the low n bits of an ID above all others. Consecutive IDs then belong to 2^n equal
// ranges in turn, each in the order of the IDs. A database that keeps ranges of keys on different
// servers, such as CockroachDB, Spanner, TiDB or YugabyteDB, so inserts on several of them, instead
// of at the end of one. Choose n at most as large as the layout's SequenceBits: generators use
// these bits evenly.
//
// Scatter is a permutation of the IDs, without a key; [Gather] is its inverse. Call [Gather] before
// you parse the fields of the ID. The ID rotates among its 63 bits, so every n is allowed: 63 and 0
// do nothing. A negative number, which is no ID, stays as it is.
func Scatter(id uidring.ID, n int) uidring.ID {
	if id < 0 {
		return id
	}
	n = (n%idBits + idBits) % idBits
	return id>>n | id<<(idBits-n)&(1<<idBits-1)
}

// Gather returns the ID that [Scatter] with the same n moved.
func Gather(id uidring.ID, n int) uidring.ID { return Scatter(id, -(n % idBits)) }
