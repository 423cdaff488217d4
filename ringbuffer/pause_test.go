package ringbuffer_test

import (
	"math"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// paused returns a ring of two blocks, 4…7 and 8…11, and the block of a take that has been held up
// before its add.
func paused(t *testing.T) (*ringbuffer.Ring, *ringbuffer.Block) {
	t.Helper()
	r := newRing(t, 2)
	r.Put(4, 7)
	r.Put(8, 11)
	if id, ok := r.Take(); id != 4 || !ok {
		t.Fatalf("Take() = %d, %t, want 4", id, ok)
	}
	return r, r.Current()
}

// Takers that have all found the same IDs left share them in the order of their adds.
func TestBatchesHeldBeforeTheirAddsShareWhatIsLeft(t *testing.T) {
	for _, test := range []struct{ adds, got []int }{
		{[]int{3, 3, 3, 3}, []int{3, 0, 0, 0}},
		{[]int{2, 2, 2, 2}, []int{2, 1, 0, 0}},
		{[]int{1, 1, 1, 1, 1}, []int{1, 1, 1, 0, 0}},
		{[]int{1, 3, 1, 3}, []int{1, 2, 0, 0}},
	} {
		r, b := paused(t) // 5, 6 and 7 are left
		next := int64(5)
		for i, n := range test.adds {
			first, got := b.AddTo(n)
			if got != test.got[i] || got > 0 && first != next {
				t.Errorf("adds of %v: %d got %d IDs from %d, want %d from %d", test.adds, n, got, first, test.got[i], next)
			}
			next += int64(got)
		}
		if want := (ringbuffer.Counts{Put: 8, Issued: 4, Remaining: 4}); r.Counts() != want {
			t.Errorf("Counts() = %+v, want %+v", r.Counts(), want)
		}
	}
}

// Takers may use up a block and go on to the next one before its Put has returned.
func TestEmptyIsExactDuringAPut(t *testing.T) {
	r := newRing(t, 2)
	r.Put(1, 1)
	r.PutHeldUp(2, 3)
	for want := int64(1); want <= 4; want++ {
		if got := r.Empty(); got != (want == 4) {
			t.Errorf("before ID %d: Empty() = %t", want, got)
		}
		if id, ok := r.Take(); ok != (want < 4) || ok && id != want {
			t.Errorf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
}

// Overshoot of a used-up block: as many takes as there may be never come round to its IDs again.
func TestTakesOfAnEmptyRingDoNotOverflow(t *testing.T) {
	r := newRing(t, 2)
	r.Put(1, math.MaxInt64)
	r.Take()
	for range 5 {
		if first, n, ok := r.TakeBlock(math.MaxInt); !ok || int64(n) > 1<<40 {
			t.Fatalf("TakeBlock = %d, %d, %t, want at most 2^40 IDs", first, n, ok)
		}
	}
	b := r.Current()
	r.Retire(math.MaxInt64)
	for range 1000 {
		if first, n := b.TakeFrom(math.MaxInt); n != 0 {
			t.Fatalf("a used-up block gave %d IDs from %d", n, first)
		}
		if id, ok := b.Take(); ok {
			t.Fatalf("a used-up block gave %d", id)
		}
	}
}
