package incidents_test

import (
	"slices"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/testkit/idset"
)

// startAll has processes make their generators at the same moment, and returns their numbers.
func startAll(all []*child) []int64 {
	for _, p := range all {
		p.tell("start")
	}
	workers := make([]int64, len(all))
	for i, p := range all {
		workers[i] = p.worker()
	}
	return workers
}

// different returns the numbers in order, and fails the test when two of them are the same.
func different(t *testing.T, workers []int64) []int64 {
	t.Helper()
	sorted := slices.Sorted(slices.Values(workers))
	if len(slices.Compact(slices.Clone(sorted))) != len(workers) {
		t.Errorf("workers %v, want different ones", sorted)
	}
	return sorted
}

// Counters and lists that are read, raised and written back gave two starts one number.
func TestManyStartsAtOnceGetDifferentNumbers(t *testing.T) {
	t.Parallel()
	const starts, draws = 16, 10_000
	leased := service{Layout: bitsalloc.Default(), DSN: mariaDB(t).DSN()}
	all := processes(t, slices.Repeat([]service{leased}, starts)...)
	var issued idset.Set
	for _, numbers := range []string{"new", "recycled"} {
		different(t, startAll(all))
		for _, p := range all {
			issued.Once(t, p.draw(draws)...)
		}
		for _, p := range all {
			p.close()
		}
		t.Logf("%d IDs after the round with %s numbers", issued.Len(), numbers)
	}
	if n := issued.Len(); n != 2*starts*draws {
		t.Errorf("%d IDs, want %d", n, 2*starts*draws)
	}
}
