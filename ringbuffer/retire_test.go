package ringbuffer_test

import (
	"math"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

func TestRetireDropsTheIDsUpToLast(t *testing.T) {
	// Blocks 8…15, of which 8 and 9 are taken, 16…23 and 32…39.
	for _, test := range []struct {
		name    string
		last    int64
		retired int
		next    int64 // 0: none
	}{
		{"the smallest", math.MinInt64, 0, 10},
		{"negative", -1, 0, 10},
		{"zero", 0, 0, 10},
		{"below all blocks", 7, 0, 10},
		{"IDs already taken", 9, 0, 10},
		{"one ID", 10, 1, 11},
		{"in the middle of the oldest", 13, 4, 14},
		{"the oldest", 15, 6, 16},
		{"one ID of the second", 16, 7, 17},
		{"all but one of the second", 22, 13, 23},
		{"the second", 23, 14, 32},
		{"where no block is", 31, 14, 32},
		{"all but one", 38, 21, 39},
		{"the last ID", 39, 22, 0},
		{"the largest", math.MaxInt64, 22, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4)
			for _, first := range []int64{8, 16, 32} {
				r.Put(first, first+7)
			}
			r.TakeN(make([]int64, 2))
			if got := r.Retire(test.last); got != test.retired {
				t.Errorf("Retire(%d) = %d, want %d", test.last, got, test.retired)
			}
			want := ringbuffer.Counts{Put: 24, Issued: 2, Retired: uint64(test.retired), Remaining: uint64(22 - test.retired)}
			if c := r.Counts(); c != want || r.Len() != 22-test.retired {
				t.Errorf("%+v and %d left, want %+v", c, r.Len(), want)
			}
			if id, ok := r.Take(); ok != (test.next != 0) || ok && id != test.next {
				t.Errorf("Take() = %d, %t, want %d", id, ok, test.next)
			}
		})
	}
}

func TestRetireOfNoIDKeepsTheSmallestID(t *testing.T) {
	r := newRing(t, 2)
	r.Put(1, 4)
	if got := r.Retire(0); got != 0 || r.Peek() != 1 {
		t.Errorf("Retire(0) = %d, and ID %d is next, want 0 and 1", got, r.Peek())
	}
}

func TestPeekLeavesTheIDInTheRing(t *testing.T) {
	r := newRing(t, 2)
	for _, want := range []int64{0, 8, 9, 16} {
		for range 2 {
			if got := r.Peek(); got != want {
				t.Errorf("Peek() = %d, want %d", got, want)
			}
		}
		if want == 0 {
			r.Put(8, 9)
			r.Put(16, 23)
			continue
		}
		if id, ok := r.Take(); id != want || !ok {
			t.Errorf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
	r.Retire(math.MaxInt64)
	if got := r.Peek(); got != 0 {
		t.Errorf("Peek() of an empty ring = %d, want 0", got)
	}
}

func TestRetireOfAnEmptyRingIsZero(t *testing.T) {
	r := newRing(t, 2)
	if got := r.Retire(math.MaxInt64); got != 0 {
		t.Errorf("Retire of a new ring = %d", got)
	}
	r.Put(8, 15)
	r.TakeBlock(8)
	if got := r.Retire(math.MaxInt64); got != 0 || r.Free() != 2 {
		t.Errorf("Retire of a used-up block = %d, %d slots free, want 0 and 2", got, r.Free())
	}
}

func TestRetireMakesRoom(t *testing.T) {
	r := newRing(t, 2)
	r.Put(8, 15)
	r.Put(16, 23)
	r.Retire(15)
	if !r.Put(24, 31) || r.Put(32, 39) {
		t.Error("one retired block should make room for one")
	}
	if id, ok := r.Take(); id != 16 || !ok {
		t.Errorf("Take() = %d, %t, want 16", id, ok)
	}
}

func TestRetireDoesNotReportAHandover(t *testing.T) {
	calls := 0
	r, err := ringbuffer.New(2, func(int) { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	r.Put(8, 15)
	r.Put(16, 23)
	r.Retire(math.MaxInt64)
	r.Take()
	if calls != 0 {
		t.Errorf("handover was called %d times, but the producer itself freed the slots", calls)
	}
}
