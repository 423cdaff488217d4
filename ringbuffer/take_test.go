package ringbuffer_test

import (
	"math"
	"slices"
	"testing"
)

func TestTakesOfAnEmptyRingTouchNothing(t *testing.T) {
	r := newRing(t, 2, 1)
	for range 3 {
		if id, ok := r.Take(); id != 0 || ok {
			t.Errorf("Take() = %d, %t, want 0, false", id, ok)
		}
		if n := r.TakeN(make([]int64, 3)); n != 0 {
			t.Errorf("TakeN() = %d, want 0", n)
		}
		if first, n, ok := r.TakeRun(); first != 0 || n != 0 || ok {
			t.Errorf("TakeRun() = %d, %d, %t, want 0, 0, false", first, n, ok)
		}
	}
	r.Put(2)
	if id, ok := r.Take(); id != 2 || !ok {
		t.Errorf("Take() = %d, %t after a Put, want 2", id, ok)
	}
}

func TestTakeNGoesOnOverRuns(t *testing.T) {
	for _, test := range []struct {
		name string
		want int
		ids  []int64
	}{
		{"none", 0, nil},
		{"one", 1, []int64{5}},
		{"to the end of the run", 3, []int64{5, 6, 7}},
		{"one more", 4, []int64{5, 6, 7, 12}},
		{"two runs", 7, []int64{5, 6, 7, 12, 13, 14, 15}},
		{"all", 11, []int64{5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"more than there are", 20, []int64{5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4, 2)
			for _, first := range []int64{4, 12, 16} {
				r.Put(first)
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

func TestTakeNOfNothingDoesNotHandOver(t *testing.T) {
	r := newRing(t, 2, 1)
	r.Put(2)
	r.TakeN(make([]int64, 2))
	if n := r.TakeN(nil); n != 0 || r.Free() != 1 {
		t.Errorf("TakeN(nil) = %d, %d slots free, want 0 and 1", n, r.Free())
	}
}

func TestTakeRunTakesTheRestOfOneRun(t *testing.T) {
	r := newRing(t, 4, 3)
	r.Put(8)
	r.Put(24)
	r.TakeN(make([]int64, 5))
	for _, want := range []struct {
		first int64
		n     int
	}{{13, 3}, {24, 8}, {0, 0}} {
		if first, n, ok := r.TakeRun(); first != want.first || n != want.n || ok != (want.n > 0) {
			t.Errorf("TakeRun() = %d, %d, %t, want %d, %d", first, n, ok, want.first, want.n)
		}
	}
}

func TestIndicesWrapAround(t *testing.T) {
	r := newRing(t, 4, 1)
	r.StartAt(math.MaxUint64 - 1)
	next, want := int64(2), int64(2)
	for range 8 {
		for r.Put(next) {
			next += 2
		}
		if r.Len() != int(next-want) || r.Free() != 0 {
			t.Fatalf("cursor %d: Len %d, Free %d, want %d, 0", r.Cursor(), r.Len(), r.Free(), next-want)
		}
		for range 3 {
			if id, ok := r.Take(); id != want || !ok {
				t.Fatalf("cursor %d: Take() = %d, %t, want %d", r.Cursor(), id, ok, want)
			}
			want++
		}
	}
	if r.Cursor() > 100 {
		t.Errorf("cursor is %d, want it to have wrapped", r.Cursor())
	}
}
