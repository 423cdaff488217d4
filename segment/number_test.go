package segment_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

func TestNumbersBeginAgainWithEachPeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin") // which every machine with Go has
	testkit.Must(t, err)
	for name, tt := range map[string]struct {
		cfg   segment.NumbersConfig
		times []string // UTC
		want  []string
	}{
		"daily in UTC": {segment.NumbersConfig{Prefix: "ORD-", Separator: "-", Width: 6},
			[]string{"2026-11-22T00:00:00", "2026-11-22T23:59:59", "2026-11-23T00:00:00", "2026-12-31T23:59:59", "2027-01-01T00:00:00"},
			[]string{"ORD-20261122-000001", "ORD-20261122-000002", "ORD-20261123-000001", "ORD-20261231-000001", "ORD-20270101-000001"}},
		"the day of 25 hours": {segment.NumbersConfig{Location: berlin, Width: 2}, // 2026-10-25
			[]string{"2026-10-24T21:59:59", "2026-10-24T22:00:00", "2026-10-25T00:30:00", "2026-10-25T01:30:00", "2026-10-25T22:59:59", "2026-10-25T23:00:00"},
			[]string{"2026102401", "2026102501", "2026102502", "2026102503", "2026102504", "2026102601"}},
		"a clock that goes back": {segment.NumbersConfig{Separator: "/"},
			[]string{"2026-11-23T00:00:00", "2026-11-22T23:59:59"},
			[]string{"20261123/1", "20261122/1"}},
		"monthly": {segment.NumbersConfig{Period: segment.Monthly, Separator: "-"},
			[]string{"2026-11-01T00:00:00", "2026-11-30T23:59:59", "2026-12-01T00:00:00"},
			[]string{"202611-1", "202611-2", "202612-1"}},
		"yearly": {segment.NumbersConfig{Period: segment.Yearly, Separator: "-", Prefix: "R"},
			[]string{"2026-11-01T00:00:00", "2026-12-31T23:59:59", "2027-01-01T00:00:00"},
			[]string{"R2026-1", "R2026-2", "R2027-1"}},
		"forever": {segment.NumbersConfig{Period: segment.Forever, Separator: "-", Prefix: "INV", Width: 1},
			[]string{"2026-11-01T00:00:00", "2027-12-31T23:59:59"},
			[]string{"INV1", "INV2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var now time.Time
			source := new(scripted)
			tt.cfg.Counter = segment.Config{Name: "orders", Source: source}
			tt.cfg.Now = func() time.Time { return now }
			n, err := segment.NewNumbers(tt.cfg)
			testkit.Close(t, n, err)
			for i, at := range tt.times {
				if now, err = time.Parse("2006-01-02T15:04:05", at); err != nil {
					t.Fatal(err)
				}
				if number, err := n.Next(t.Context()); number != tt.want[i] || err != nil {
					t.Errorf("Next at %s = %q, %v, want %q", at, number, err, tt.want[i])
				}
			}
			source.mu.Lock()
			defer source.mu.Unlock()
			if _, ok := source.next["orders"]; ok != (tt.cfg.Period == segment.Forever) {
				t.Errorf("counters %v", source.next)
			}
		})
	}
}

// The store hangs when a day begins: callers wait together, each as long as its context, and get
// numbers when the store answers. In a later outage of the day they wait as with a generator.
func TestNumbersInOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var down atomic.Bool
		source := &scripted{before: func(ctx context.Context, _ string, _ int64) error {
			if down.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		n, err := segment.NewNumbers(segment.NumbersConfig{Counter: segment.Config{Name: "a", Source: source, FetchTimeout: 5 * time.Second,
			Step: 1, MaxStep: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}}) // synctest begins at midnight in UTC
		testkit.Must(t, err)
		issued := func(want string) {
			t.Helper()
			if number, err := n.Next(t.Context()); number != want || err != nil {
				t.Errorf("Next = %q, %v, want %q", number, err, want)
			}
		}
		waits := func(limit, want time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			number, err := n.Next(ctx)
			if waited := time.Since(began); !errors.Is(err, segment.ErrEmpty) || errors.Is(err, context.DeadlineExceeded) != (limit == want) || waited != want {
				t.Errorf("Next = %q, %v after %v, want an error after %v", number, err, waited, want)
			}
		}
		issued("200001011")
		time.Sleep(24 * time.Hour)
		down.Store(true)
		testkit.Together(20, func(i int) {
			if i%2 == 0 {
				waits(time.Second, time.Second)
				return
			}
			waits(time.Hour, 5*time.Second)
		})
		down.Store(false)
		time.Sleep(10 * time.Second)
		down.Store(true) // two ranges are there
		issued("200001021")
		if warnings := strings.Count(log.String(), "level=WARN"); warnings != 1 || strings.Contains(log.String(), "panic") {
			t.Errorf("%d warnings, want 1 of the outage:\n%s", warnings, log.String())
		}
		issued("200001022")
		waits(time.Minute, time.Minute)
		for range 2 {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
		if number, err := n.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("after Close: %q, %v", number, err)
		}
	})
}

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
