package idset

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

func TestAddFindsEachIDNewOnce(t *testing.T) {
	page := make([]int64, 1<<pageBits)
	for i := range page {
		page[i] = int64(i)
	}
	for name, ids := range map[string][]int64{
		"far apart":            {0, 1 << 62, 5 << 40, 1<<63 - 1, -1, -4096, -1 << 63},
		"a page in two halves": append(slices.Clone(page[100:]), page[:100]...),
	} {
		var s Set
		var again atomic.Int64
		testkit.Together(8, func(int) { again.Add(int64(len(s.Add(ids...)))) })
		if s.Len() != len(ids) || again.Load() != int64(7*len(ids)) || !slices.Equal(s.Add(ids...), ids) {
			t.Errorf("%s: %d IDs, %d of them again, want %d and %d", name, s.Len(), again.Load(), len(ids), 7*len(ids))
		}
	}
}
