package ringbuffer_test

import (
	"math"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

func TestRetireDropsTheRunsThatBeginBelow(t *testing.T) {
	// Runs 8…15, of which 8 and 9 are taken, 16…23 and 32…39.
	for _, test := range []struct {
		name    string
		before  int64
		retired int
		next    int64 // 0: none
	}{
		{"the smallest", math.MinInt64, 0, 10},
		{"negative", -1, 0, 10},
		{"zero", 0, 0, 10},
		{"where the oldest begins", 8, 0, 10},
		{"just above it", 9, 6, 16},
		{"in the middle of it", 12, 6, 16},
		{"where the second begins", 16, 6, 16},
		{"in the second", 17, 14, 32},
		{"between the runs", 28, 14, 32},
		{"the last ID", 39, 22, 0},
		{"the largest", math.MaxInt64, 22, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4, 3)
			for _, first := range []int64{8, 16, 32} {
				r.Put(first)
			}
			r.TakeN(make([]int64, 2))
			if got := r.Retire(test.before); got != test.retired {
				t.Errorf("Retire(%d) = %d, want %d", test.before, got, test.retired)
			}
			if c := r.Counts(); c.Retired != uint64(test.retired) || c.Dropped != 0 || r.Len() != 22-test.retired {
				t.Errorf("%+v and %d left, want %d retired and the rest left", c, r.Len(), test.retired)
			}
			if id, ok := r.Take(); id != test.next || ok != (test.next != 0) {
				t.Errorf("Take() = %d, %t, want %d", id, ok, test.next)
			}
		})
	}
}

func TestRetireOfAnEmptyRingIsZero(t *testing.T) {
	r := newRing(t, 2, 3)
	if got := r.Retire(math.MaxInt64); got != 0 {
		t.Errorf("Retire of a new ring = %d", got)
	}
	r.Put(8)
	r.TakeRun()
	if got := r.Retire(math.MaxInt64); got != 0 || r.Free() != 2 {
		t.Errorf("Retire of a used-up run = %d, %d slots free, want 0 and 2", got, r.Free())
	}
}

func TestRetireMakesRoom(t *testing.T) {
	r := newRing(t, 2, 3)
	r.Put(8)
	r.Put(16)
	r.Retire(16)
	if !r.Put(24) || r.Put(32) {
		t.Error("one retired run should make room for one")
	}
	if id, ok := r.Take(); id != 16 || !ok {
		t.Errorf("Take() = %d, %t, want 16", id, ok)
	}
}

func TestRetireDoesNotReportAHandover(t *testing.T) {
	calls := 0
	r, err := ringbuffer.New(2, 3, func(int) { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	r.Put(8)
	r.Put(16)
	r.Retire(math.MaxInt64)
	r.Take()
	if calls != 0 {
		t.Errorf("handover was called %d times, but the producer itself freed the slots", calls)
	}
}

// TestRetireDropsTheVeryLastID: nothing is above the largest ID, so MaxInt64 stands for all.
func TestRetireDropsTheVeryLastID(t *testing.T) {
	r := newRing(t, 2, 0)
	r.Put(math.MaxInt64)
	if got := r.Retire(math.MaxInt64); got != 1 {
		t.Errorf("Retire = %d, want 1", got)
	}
	if id, ok := r.Take(); ok {
		t.Errorf("Take = %d, want nothing", id)
	}
}
