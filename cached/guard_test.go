//go:build !race

package cached_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
)

// TestNextIsWithinTwiceAnAtomicAdd is the only test that measures speed. Passes of Next and of the
// atomic add take turns, so that noise affects both, and the test compares the median of the
// ratios.
func TestNextIsWithinTwiceAnAtomicAdd(t *testing.T) {
	if testing.Short() {
		t.Skip("timed")
	}
	const passes, calls, bound = 31, 200_000, 2.0
	g := open(t, cached.Config{})
	var n atomic.Int64
	timed := func(f func()) float64 {
		start := time.Now()
		f()
		return float64(time.Since(start))
	}
	ratios := make([]float64, 0, passes)
	for range passes {
		add := timed(func() {
			for range calls {
				n.Add(1)
			}
		})
		take := timed(func() {
			for range calls {
				if _, err := g.Next(); err != nil {
					t.Fatal(err)
				}
			}
		})
		ratios = append(ratios, take/add)
	}
	slices.Sort(ratios)
	median := ratios[passes/2]
	t.Logf("%.2f x an atomic add", median)
	if median > bound {
		t.Errorf("Next takes %.2f x an atomic add, want at most %v", median, bound)
	}
}
