package cached_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/uidring/uidring/cached"
)

// originalCount is how many IDs the tests of Baidu's UidGenerator take.
const originalCount = 7_000_000

func TestSevenMillionIDsSerially(t *testing.T) {
	checkOriginal(t, 1)
}

func TestSevenMillionIDsConcurrently(t *testing.T) {
	checkOriginal(t, 2*runtime.GOMAXPROCS(0))
}

// checkOriginal checks the same as the original's tests: IDs are positive, can be parsed, and all
// differ. It takes them at full speed, and fails if Next returns an error.
func checkOriginal(t *testing.T, goroutines int) {
	n := scaled(originalCount) / goroutines
	g := open(t, cached.Config{})
	tally := &tally{t: t, g: g}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for last, i := int64(0), 0; i < n; i++ {
				id, err := g.Next()
				if err != nil {
					t.Errorf("Next: %v", err)
					return
				}
				if last = tally.add(last, id); t.Failed() {
					return
				}
			}
		})
	}
	wg.Wait()
	if got := tally.Len(); got != n*goroutines {
		t.Errorf("%d IDs, want %d", got, n*goroutines)
	}
	if s := g.Stats(); s.Issued != int64(n*goroutines) || s.RejectedTakes != 0 {
		t.Errorf("Stats: Issued %d, RejectedTakes %d, want %d, 0", s.Issued, s.RejectedTakes, n*goroutines)
	}
}
