package segment_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// The source ignores its context in both days. Callers get ErrClosed at once, and Close waits for
// the calls of both days.
func TestNumbersCloseWaitsForTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := map[string]chan struct{}{"a-20000101": make(chan struct{}), "a-20000102": make(chan struct{})}
		var calls, ended atomic.Int64
		n, err := segment.NewNumbers(segment.NumbersConfig{Counter: segment.Config{Name: "a", FetchTimeout: time.Hour,
			Source: &scripted{before: func(_ context.Context, name string, _ int64) error {
				if calls.Add(1) > 1 {
					<-hung[name]
				}
				return nil
			}}}}) // synctest begins at midnight in UTC
		testkit.Must(t, err)
		if _, err := n.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		for range 6 {
			go func() {
				if text, err := n.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
					t.Errorf("Next = %q, %v, want ErrClosed", text, err)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		go func() {
			_ = n.Close() // always nil
			ended.Add(1)
		}()
		for _, day := range []string{"a-20000102", "a-20000101"} {
			synctest.Wait()
			if ended.Load() != 6 {
				t.Errorf("while %s hangs: %d calls have ended, want the 6 of Next", day, ended.Load())
			}
			close(hung[day])
		}
	})
}

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
