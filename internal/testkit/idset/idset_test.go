package idset_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/together"
)

func TestEachIDIsNewOnce(t *testing.T) {
	for name, ids := range map[string][]int64{
		"in order":          {1, 2, 3, 64, 65},
		"far apart":         {0, 1 << 62, 5 << 40, 1<<63 - 1},
		"negative":          {-1, -4096, -1 << 63, 0},
		"out of order":      {9, 4096, 8, 4095},
		"more than a page":  span(4000, 5000),
		"a page, and again": span(4096, 4096),
	} {
		t.Run(name, func(t *testing.T) {
			var s idset.Set
			if again := s.Add(ids...); len(again) != 0 || s.Len() != len(ids) {
				t.Errorf("Add = %v, Len %d, want no ID that was there and %d", again, s.Len(), len(ids))
			}
			if again := s.Add(ids...); !slices.Equal(again, ids) || s.Len() != len(ids) {
				t.Errorf("Add of the same = %v, Len %d, want all and %d", again, s.Len(), len(ids))
			}
		})
	}
}

func TestGoroutinesThatAddTheSameIDsFindEachNewOnce(t *testing.T) {
	var s idset.Set
	var again atomic.Int64
	together.Run(8, func(int) { again.Add(int64(len(s.Add(span(100, 10_000)...)))) })
	if s.Len() != 10_000 || again.Load() != 70_000 {
		t.Errorf("%d IDs, %d of them again, want 10000 and 70000", s.Len(), again.Load())
	}
}

func span(first int64, n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = first + int64(i)
	}
	return ids
}
