package ringbuffer_test

import (
	"errors"
	"math"
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

func TestTakeBlockOfNothingChangesNothing(t *testing.T) {
	r := newRing(t, 2)
	r.Put(2, 3)
	for _, n := range []int{0, -1, math.MinInt} {
		if first, got, ok := r.TakeBlock(n); first != 0 || got != 0 || ok || r.Len() != 2 {
			t.Errorf("TakeBlock(%d) = %d, %d, %t, and %d IDs are left, want 0, 0, false and 2", n, first, got, ok, r.Len())
		}
	}
	r.TakeBlock(2)
	if first, got, ok := r.TakeBlock(1); first != 0 || got != 0 || ok {
		t.Errorf("TakeBlock of an empty ring = %d, %d, %t, want 0, 0, false", first, got, ok)
	}
}
