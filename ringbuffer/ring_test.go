package ringbuffer_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/ringbuffer"
)

// newRing returns an empty ring without a hand-over.
func newRing(t testing.TB, slots int) *ringbuffer.Ring {
	t.Helper()
	r, err := ringbuffer.New(slots, nil)
	testkit.Must(t, err)
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

func TestPutPanicsOnABlockThatCouldRepeatIDs(t *testing.T) {
	for name, block := range map[string]struct{ first, last int64 }{
		"zero": {0, 7}, "negative": {-8, -1}, "the smallest": {math.MinInt64, math.MaxInt64}, "empty": {24, 23}, "upside down": {40, 30},
		"the last one again": {16, 23}, "from its last ID on": {23, 30}, "below it": {8, 15},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, 4)
			r.Put(16, 23)
			r.TakeBlock(7)
			r.Retire(math.MaxInt64)
			before := r.Counts()
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "bug: ringbuffer: Put(") || r.Counts() != before {
					t.Errorf("Put(%d, %d) panicked with %q, and left %+v after %+v, want a bug and no change", block.first, block.last, text, r.Counts(), before)
				}
			}()
			r.Put(block.first, block.last)
		})
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
	b, left := r.Current(), int(min(r.Counts().Remaining, math.MaxInt)) // an int may have 32 bits
	if n, dropped := r.Len(), r.Retire(math.MaxInt64); n != left || dropped != left {
		t.Errorf("Len() = %d, Retire = %d, want %d", n, dropped, left)
	}
	for range 1000 {
		if first, n := b.TakeFrom(math.MaxInt); n != 0 {
			t.Fatalf("a used-up block gave %d IDs from %d", n, first)
		}
		if id, ok := b.Take(); ok {
			t.Fatalf("a used-up block gave %d", id)
		}
	}
}
