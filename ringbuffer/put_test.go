package ringbuffer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

func TestPutPanicsOnABlockThatCouldRepeatIDs(t *testing.T) {
	for _, test := range []struct {
		name        string
		first, last int64
	}{
		{"zero", 0, 7},
		{"negative", -8, -1},
		{"the smallest", math.MinInt64, math.MaxInt64},
		{"empty", 24, 23},
		{"upside down", 40, 30},
		{"the last one again", 16, 23},
		{"from its last ID on", 23, 30},
		{"below it", 8, 15},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4)
			r.Put(16, 23)
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

// A block that was used up or retired may not come back either.
func TestPutRemembersTheLastID(t *testing.T) {
	for name, empty := range map[string]func(*ringbuffer.Ring){
		"taken":   func(r *ringbuffer.Ring) { r.TakeBlock(2) },
		"retired": func(r *ringbuffer.Ring) { r.Retire(math.MaxInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, 2)
			r.Put(6, 7)
			empty(r)
			defer func() {
				if recover() == nil {
					t.Error("Put(7, 8) after Put(6, 7) did not panic")
				}
			}()
			r.Put(7, 8)
		})
	}
}

func TestPutIntoAFullRingChangesNothing(t *testing.T) {
	r := newRing(t, 2)
	r.Put(2, 3)
	r.Put(4, 5)
	before := r.Counts()
	if r.Put(6, 7) {
		t.Error("Put into a full ring = true, want false")
	}
	if got := r.Counts(); got != before {
		t.Errorf("Counts() = %+v, want %+v as before", got, before)
	}
	for want := int64(2); want < 6; want++ {
		if id, ok := r.Take(); id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
	if !r.Put(6, 7) {
		t.Error("Put of the block that was refused = false, want true once a slot is free")
	}
}

func TestBlocksMayHaveAnyLength(t *testing.T) {
	r := newRing(t, 8)
	want := []int64{1, 3, 4, 1 << 20, 1<<20 + 1, 1<<20 + 2, math.MaxInt64 - 1, math.MaxInt64}
	r.Put(1, 1)
	r.Put(3, 4)
	r.Put(1<<20, 1<<20+2)
	r.Put(math.MaxInt64-1, math.MaxInt64)
	if r.Len() != len(want) {
		t.Errorf("%d IDs, want %d", r.Len(), len(want))
	}
	for _, want := range want {
		if id, ok := r.Take(); id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
}

func TestTheLastBlockOfALayoutIsIssuedToItsLastID(t *testing.T) {
	for _, size := range []int64{1, 2, 8, 1 << 13} {
		first := math.MaxInt64 - size + 1
		takes := map[string]func(*ringbuffer.Ring) (int64, int){
			"Take": func(r *ringbuffer.Ring) (id int64, n int) {
				for next, ok := r.Take(); ok; next, ok = r.Take() {
					id = next
					n++
				}
				return id, n
			},
			"TakeN": func(r *ringbuffer.Ring) (int64, int) {
				dst := make([]int64, size+1)
				n := r.TakeN(dst)
				return dst[n-1], n
			},
			"TakeBlock": func(r *ringbuffer.Ring) (int64, int) {
				first, n, _ := r.TakeBlock(math.MaxInt)
				return first + int64(n) - 1, n
			},
		}
		for name, take := range takes {
			r := newRing(t, 2)
			r.Put(first, math.MaxInt64)
			if id, n := take(r); id != math.MaxInt64 || n != int(size) {
				t.Errorf("%s: last ID of a block of %d is %d after %d, want 2^63-1", name, size, id, n)
			}
			if id, ok := r.Take(); ok {
				t.Errorf("%s: a block of %d: Take() = %d after the last ID", name, size, id)
			}
		}
		r := newRing(t, 2)
		r.Put(first, math.MaxInt64)
		r.Take()
		if got := r.Retire(math.MaxInt64); got != int(size)-1 {
			t.Errorf("Retire of the rest of a block of %d = %d", size, got)
		}
	}
}
