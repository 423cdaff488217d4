package ringbuffer_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// newRing returns an empty ring without a hand-over.
func newRing(t testing.TB, slots int) *ringbuffer.Ring {
	t.Helper()
	r, err := ringbuffer.New(slots, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewBoundsTheNumberOfSlots(t *testing.T) {
	newRing(t, 2)
	newRing(t, 1<<24)
	for _, slots := range []int{0, 1, 3, 6, -8, math.MinInt, math.MaxInt, math.MaxInt/2 + 1, 1 << 25} {
		r, err := ringbuffer.New(slots, nil)
		if r != nil || !errors.Is(err, ringbuffer.ErrInvalidSize) || !strings.Contains(err.Error(), "a power of two from 2 to 16777216") {
			t.Errorf("New(%d) = %v, %v, want ErrInvalidSize", slots, r, err)
		}
	}
}

func TestLenAndFreeFollowTheRing(t *testing.T) {
	r := newRing(t, 4)
	state := func(step string, length, free int) {
		t.Helper()
		if r.Len() != length || r.Free() != free || r.Slots() != 4 {
			t.Errorf("%s: Len %d, Free %d, Slots %d, want %d, %d, 4", step, r.Len(), r.Free(), r.Slots(), length, free)
		}
	}
	state("new", 0, 4)
	for i := range int64(4) {
		r.Put((i+1)<<3, (i+1)<<3+7)
		state("put", int(i+1)*8, int(3-i))
	}
	r.Take()
	state("one taken", 31, 0)
	r.TakeN(make([]int64, 7))
	state("a block taken", 24, 1)
	r.Take()
	state("the next taken", 23, 1)
	r.Retire(math.MaxInt64)
	state("all retired", 0, 4)
}

func TestHandoverReportsEachBlockOnce(t *testing.T) {
	var left []int
	r, err := ringbuffer.New(4, func(n int) { left = append(left, n) })
	if err != nil {
		t.Fatal(err)
	}
	for first := int64(2); first <= 8; first += 2 {
		r.Put(first, first+1)
	}
	want := [][]int{ // after each take of one ID; the last two find none
		{4}, {4}, {4, 3}, {4, 3}, {4, 3, 2}, {4, 3, 2}, {4, 3, 2, 1}, {4, 3, 2, 1}, {4, 3, 2, 1}, {4, 3, 2, 1},
	}
	for i, want := range want {
		id, ok := r.Take()
		if ok != (i < 8) || ok && id != int64(i)+2 {
			t.Fatalf("take %d: %d, %t", i, id, ok)
		}
		if !slices.Equal(left, want) {
			t.Fatalf("take %d: hand-overs %v, want %v", i, left, want)
		}
	}
}

// A Put in the hand-over func finds the slot of the used-up block free.
func TestHandoverMayPut(t *testing.T) {
	next := int64(2)
	var r *ringbuffer.Ring
	put := func(int) {
		if !r.Put(next, next+1) {
			t.Errorf("Put(%d) at hand-over found no free slot", next)
		}
		next += 2
	}
	r, err := ringbuffer.New(2, put)
	if err != nil {
		t.Fatal(err)
	}
	put(0)
	for want := int64(2); want < 100; want++ {
		if id, ok := r.Take(); id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
}
