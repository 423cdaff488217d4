package incidents_test

import (
	"math/bits"
	"testing"
)

// A tally has a bit for each ID that has come, 64 to a word.
type tally map[int64]uint64

// add enters an ID and reports whether it had come before.
func (y tally) add(id int64) (again bool) {
	word, bit := id>>6, uint64(1)<<(id&63)
	again = y[word]&bit != 0
	y[word] |= bit
	return again
}

// once enters IDs none of which may have come before.
func (y tally) once(t *testing.T, ids ...int64) {
	t.Helper()
	var again []int64
	for _, id := range ids {
		if y.add(id) {
			again = append(again, id)
		}
	}
	if len(again) > 0 {
		t.Errorf("%d of %d IDs had come before, the first is %d", len(again), len(ids), again[0])
	}
}

// size returns the number of IDs.
func (y tally) size() (n int) {
	for _, word := range y {
		n += bits.OnesCount64(word)
	}
	return n
}

// common returns how many IDs are in both.
func (y tally) common(other tally) (n int) {
	for key, word := range y {
		n += bits.OnesCount64(word & other[key])
	}
	return n
}
