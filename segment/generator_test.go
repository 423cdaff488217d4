package segment_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// open makes a generator of the counter a, with ranges of 10 unless cfg has a Step, that is closed
// when the test ends.
func open(t *testing.T, cfg segment.Config) *segment.Generator {
	t.Helper()
	cfg.Name = "a"
	if cfg.Step == 0 {
		cfg.Step, cfg.MaxStep = 10, 10
	}
	g, err := segment.New(cfg)
	return testkit.Close(t, g, err)
}

// take returns the next n IDs, which must be there.
func take(t *testing.T, g *segment.Generator, n int) (ids []int64) {
	t.Helper()
	for range n {
		id, err := g.Next()
		if err != nil {
			t.Fatalf("after %v: %v", ids, err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Each pause is drawn from the upper half of 20 ms, 40 ms and so on up to 1 s, in each outage anew.
func TestPausesBetweenRetriesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var last time.Time
		var pauses []time.Duration
		fails, failures := while(&down), int64(0)
		g := open(t, segment.Config{Source: &scripted{before: func(ctx context.Context, name string, n int64) error {
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			err := fails(ctx, name, n)
			if err != nil {
				failures++
			}
			return err
		}}})
		for range 10 {
			synctest.Wait()
			pauses = nil
			down.Store(true)
			take(t, g, 20)
			time.Sleep(time.Minute)
			down.Store(false)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			for i, pause := range pauses[1 : len(pauses)-1] { // the last call fetches the range ahead
				if most := min(20*time.Millisecond<<min(i, 10), time.Second); pause < most/2 || pause >= most {
					t.Errorf("pause %d was %v, want %v to %v", i, pause, most/2, most)
				}
			}
		}
		if got := g.Stats().FetchFailures; got != failures {
			t.Errorf("Stats: %d failures, want %d", got, failures)
		}
	})
}

// No ID was issued: a snapshot beside Close must not count the dropped IDs as issued.
func TestStatsBesideCloseCountNoDroppedIDAsIssued(t *testing.T) {
	for range 50 {
		g, err := segment.New(segment.Config{Name: "a", Source: new(scripted), Step: 1, MaxStep: 1, Prefetch: 64})
		testkit.Close(t, g, err)
		for g.Stats().Remaining < 65 {
		}
		go g.Close()
		for s := g.Stats(); s.Retired < 65; s = g.Stats() {
			if s.Issued != 0 {
				t.Fatalf("Stats %+v: no ID was issued", s)
			}
		}
	}
}

// Goroutines take IDs in all ways at once, of one source and of two.
func TestTakesOfGoroutines(t *testing.T) {
	for _, cfg := range []segment.Config{
		{Source: new(scripted), MaxStep: 4096, Step: 16, Prefetch: 3},
		{Source: &scripted{delta: 2}, Others: []segment.Source{&scripted{delta: 2, remainder: 1}}},
	} {
		g := open(t, cfg)
		var all idset.Set
		testkit.Together(9, func(i int) {
			l, last, ids := g.Lane(), int64(0), make([]int64, 7)
			for range 500 {
				var err error
				n := 1
				switch i % 3 {
				case 0:
					n, err = g.Fill(ids)
				case 1:
					ids[0], err = g.Next()
				case 2:
					ids[0], err = l.Next()
				}
				if err != nil {
					t.Error(err)
				}
				if len(cfg.Others) == 0 && (ids[0] <= last || !slices.IsSorted(ids[:n])) {
					t.Errorf("IDs %v after %d", ids[:n], last)
				}
				last = ids[n-1]
				all.Once(t, ids[:n]...)
			}
		})
		if want := 3*500*7 + 6*500; all.Len() != want {
			t.Errorf("%d IDs, want %d", all.Len(), want)
		}
	}
}

func TestInvalidateWhileGoroutinesTakeIDs(t *testing.T) {
	var fetched, old atomic.Int64 // a copy may have the IDs up to old
	g := open(t, segment.Config{Source: new(scripted), Step: 100, MaxStep: 100, Prefetch: 64,
		Trace: segment.Trace{Fetched: func(f segment.FetchedInfo) { fetched.Store(f.Range.Last) }}})
	var done atomic.Bool
	testkit.Together(3, func(worker int) {
		if worker == 0 {
			defer done.Store(true)
			for range 100 {
				for g.Stats().Remaining < 2000 {
					runtime.Gosched()
				}
				last := fetched.Load()
				g.Invalidate()
				old.Store(last)
			}
			return
		}
		l := g.Lane()
		for i := 0; !done.Load(); i++ {
			next := l.Next
			if i%9 == 0 {
				next = g.Next
				runtime.Gosched() // with a single CPU the ring would stay almost empty
			}
			least := old.Load()
			if id, err := next(); id <= least || err != nil {
				t.Errorf("ID %d, %v, want an ID above %d", id, err, least)
			}
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
			testkit.Pause(t.Context(), time.Millisecond)
			mu.Lock()
			last = calls
			mu.Unlock()
		}
		// The race detector must see no lock between calls of Next and Close.
		testkit.Pause(t.Context(), 10*time.Millisecond)
		closing.Store(true)
		_ = n.Close() // always nil
	})
	for _, day := range []string{"20261122", "20261123", "20261124", "20261125"} {
		if !days[day] {
			t.Errorf("no number of %s", day)
		}
	}
}
