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
	nothing := func(*ringbuffer.Ring) {}
	for _, test := range []struct {
		name        string
		before      func(*ringbuffer.Ring) // after Put(16, 23)
		first, last int64
	}{
		{"zero", nothing, 0, 7},
		{"negative", nothing, -8, -1},
		{"the smallest", nothing, math.MinInt64, math.MaxInt64},
		{"empty", nothing, 24, 23},
		{"upside down", nothing, 40, 30},
		{"the last one again", nothing, 16, 23},
		{"from its last ID on", nothing, 23, 30},
		{"below it", nothing, 8, 15},
		{"taken", func(r *ringbuffer.Ring) { r.TakeBlock(8) }, 23, 30},
		{"retired", func(r *ringbuffer.Ring) { r.Retire(math.MaxInt64) }, 23, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4)
			r.Put(16, 23)
			test.before(r)
			before := r.Counts()
			defer func() {
				text, _ := recover().(string)
				if !strings.HasPrefix(text, "bug: ringbuffer: Put(") {
					t.Errorf("Put(%d, %d) panicked with %q, want a bug", test.first, test.last, text)
				}
				if got := r.Counts(); got != before {
					t.Errorf("counts are %+v after it, want %+v", got, before)
				}
			}()
			r.Put(test.first, test.last)
		})
	}
}

func TestTakesOfNothingChangeNothing(t *testing.T) {
	r := newRing(t, 2)
	r.Put(2, 3)
	r.Put(4, 5)
	r.TakeN(make([]int64, 2))
	index := r.Index()
	for _, n := range []int{0, -1, math.MinInt} {
		if first, got, ok := r.TakeBlock(n); first != 0 || got != 0 || ok {
			t.Errorf("TakeBlock(%d) = %d, %d, %t, want 0, 0, false", n, first, got, ok)
		}
	}
	if n := r.TakeN(nil); n != 0 || r.Index() != index {
		t.Errorf("TakeN(nil) = %d, block %d is current, want 0 and %d as before", n, r.Index(), index)
	}
	r.TakeN(make([]int64, 2))
	if first, got, ok := r.TakeBlock(1); first != 0 || got != 0 || ok {
		t.Errorf("TakeBlock of an empty ring = %d, %d, %t, want 0, 0, false", first, got, ok)
	}
}
