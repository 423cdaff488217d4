package segment_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// Goroutines take numbers while the day changes, until Close.
func TestNumbersAreUniqueOverMidnight(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	n, err := segment.NewNumbers(segment.NumbersConfig{Counter: segment.Config{Name: "a", Source: new(scripted), Step: 7},
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return time.Date(2026, time.November, 22+calls/1000, 0, 0, 0, 0, time.UTC)
		}})
	testkit.Must(t, err)
	seen, days := make(map[string]bool), make(map[string]bool)
	var closing atomic.Bool
	testkit.Together(5, func(i int) {
		for i > 0 {
			number, err := n.Next(t.Context())
			if errors.Is(err, segment.ErrClosed) && closing.Load() {
				return
			}
			mu.Lock()
			if err != nil || seen[number] {
				t.Errorf("%q, %v: twice, or an error", number, err)
			}
			seen[number], days[number[:min(8, len(number))]] = true, true
			mu.Unlock()
		}
		for last := 0; last < 4000; {
			n.Invalidate()
			testkit.Yield()
			mu.Lock()
			last = calls
			mu.Unlock()
		}
		for range 10 { // the race detector must see no lock between calls of Next and Close
			testkit.Yield()
		}
		closing.Store(true)
		_ = n.Close() // always nil
	})
	for _, day := range []string{"20261122", "20261123", "20261124", "20261125"} {
		if !days[day] {
			t.Errorf("no number of %s", day)
		}
	}
}
