package ringbuffer_test

import (
	"math"
	"slices"
	"testing"
)

func TestTakesOfAnEmptyRingTouchNothing(t *testing.T) {
	r := newRing(t, 2)
	for range 3 {
		if id, ok := r.Take(); id != 0 || ok {
			t.Errorf("Take() = %d, %t, want 0, false", id, ok)
		}
		if n := r.TakeN(make([]int64, 3)); n != 0 {
			t.Errorf("TakeN() = %d, want 0", n)
		}
		if first, n, ok := r.TakeBlock(3); first != 0 || n != 0 || ok {
			t.Errorf("TakeBlock() = %d, %d, %t, want 0, 0, false", first, n, ok)
		}
	}
	r.Put(2, 3)
	if id, ok := r.Take(); id != 2 || !ok {
		t.Errorf("Take() = %d, %t after a Put, want 2", id, ok)
	}
}

func TestTakeNGoesOnOverBlocks(t *testing.T) {
	for _, test := range []struct {
		name string
		want int
		ids  []int64
	}{
		{"none", 0, nil},
		{"one", 1, []int64{5}},
		{"to the end of the block", 3, []int64{5, 6, 7}},
		{"one more", 4, []int64{5, 6, 7, 12}},
		{"two blocks", 7, []int64{5, 6, 7, 12, 13, 14, 15}},
		{"all", 11, []int64{5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"more than there are", 20, []int64{5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4)
			for _, first := range []int64{4, 12, 16} {
				r.Put(first, first+3)
			}
			r.Take()
			dst := slices.Repeat([]int64{-1}, test.want)
			n := r.TakeN(dst)
			if !slices.Equal(dst[:n], test.ids) {
				t.Errorf("TakeN gave %v, want %v", dst[:n], test.ids)
			}
			if rest := dst[n:]; slices.ContainsFunc(rest, func(id int64) bool { return id != -1 }) {
				t.Errorf("TakeN wrote %v beyond the %d IDs it gave", rest, n)
			}
			if r.Len() != 11-n {
				t.Errorf("%d IDs are left, want %d", r.Len(), 11-n)
			}
		})
	}
}

func TestTakesOfNothingChangeNothing(t *testing.T) {
	r := newRing(t, 2)
	r.Put(2, 3)
	r.Put(4, 5)
	r.TakeN(make([]int64, 2))
	index := r.Index()
	if n := r.TakeN(nil); n != 0 {
		t.Errorf("TakeN(nil) = %d", n)
	}
	for _, n := range []int{0, -1, math.MinInt} {
		if first, got, ok := r.TakeBlock(n); first != 0 || got != 0 || ok {
			t.Errorf("TakeBlock(%d) = %d, %d, %t, want 0, 0, false", n, first, got, ok)
		}
	}
	if r.Index() != index {
		t.Errorf("block %d is current, want %d as before", r.Index(), index)
	}
}

func TestTakeBlockTakesConsecutiveIDsOfOneBlock(t *testing.T) {
	r := newRing(t, 4)
	r.Put(8, 15)
	r.Put(24, 31)
	r.TakeN(make([]int64, 2))
	for _, take := range []struct {
		n, got int
		first  int64
	}{{3, 3, 10}, {math.MaxInt, 3, 13}, {5, 5, 24}, {3, 3, 29}, {1, 0, 0}} {
		if first, got, ok := r.TakeBlock(take.n); first != take.first || got != take.got || ok != (take.got > 0) {
			t.Errorf("TakeBlock(%d) = %d, %d, %t, want %d, %d", take.n, first, got, ok, take.first, take.got)
		}
	}
}

func TestIndicesWrapAround(t *testing.T) {
	r := newRing(t, 4)
	r.StartAt(math.MaxUint64 - 1)
	next, want := int64(2), int64(2)
	for range 8 {
		for r.Put(next, next+1) {
			next += 2
		}
		if r.Len() != int(next-want) || r.Free() != 0 {
			t.Fatalf("block %d: Len %d, Free %d, want %d, 0", r.Index(), r.Len(), r.Free(), next-want)
		}
		for range 3 {
			if id, ok := r.Take(); id != want || !ok {
				t.Fatalf("block %d: Take() = %d, %t, want %d", r.Index(), id, ok, want)
			}
			want++
		}
	}
	if r.Index() > 100 {
		t.Errorf("the index is %d, want it to have wrapped", r.Index())
	}
}
