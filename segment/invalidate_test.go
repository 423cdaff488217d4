package segment_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// A snapshot is resumed twice: both copies have the ranges 1 to 20, a lane with the rest of the
// first, and an answer with 21 to 30 on its way.
func TestInvalidateDropsWhatACopyMayHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrives, calls := make(chan struct{}), 0
		source := &scripted{after: func() {
			if calls++; calls == 3 {
				<-arrives
			}
		}}
		g := open(t, segment.Config{Source: source, OnEmpty: segment.Reject})
		synctest.Wait()
		take(t, g, 3)
		l, unused := g.Lane(), g.Lane()
		for want := int64(4); want < 7; want++ {
			if id, err := l.Next(); id != want || err != nil {
				t.Errorf("Next of the lane = %d, %v, want %d", id, err, want)
			}
		}
		take(t, g, 1) // begins the second range
		synctest.Wait()
		g.Invalidate()
		if s := g.Stats(); s.Issued != 11 || s.Retired != 9 || s.Remaining != 0 {
			t.Errorf("Stats %+v, want 11 IDs issued and 9 dropped", s)
		}
		if id, err := l.Next(); id != 0 || err == nil {
			t.Errorf("Next of the lane before a new range is there = %d, %v, want ErrEmpty", id, err)
		}
		close(arrives)
		synctest.Wait()
		ids := make([]int64, 2)
		if _, err := g.Fill(ids); err != nil {
			t.Error(err)
		}
		ids = append(ids, take(t, g, 1)...)
		for _, next := range []func() (int64, error){l.Next, unused.Next, func() (int64, error) { return g.NextContext(t.Context()) }, l.Next} {
			id, err := next()
			if err != nil {
				t.Error(err)
			}
			synctest.Wait()
			ids = append(ids, id)
		}
		if ids[6] != ids[3]+1 {
			t.Errorf("IDs %v: the lane does not go on with its block", ids)
		}
		for i, id := range ids {
			if id <= 30 {
				t.Errorf("ID %d of %v is of a range that a copy may have, 1 to 30", i, ids)
			}
		}
	})
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
			}
			least := old.Load()
			if id, err := next(); id <= least || err != nil {
				t.Errorf("ID %d, %v, want an ID above %d", id, err, least)
			}
		}
	})
}

func TestNumbersInvalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := segment.NewNumbers(segment.NumbersConfig{Counter: segment.Config{Name: "a", Source: new(scripted), Step: 10, MaxStep: 10}})
		testkit.Must(t, err)
		defer n.Close()
		n.Invalidate() // there is no generator yet
		for _, want := range []string{"200001011", "2000010121"} {
			if number, err := n.Next(context.Background()); number != want || err != nil {
				t.Errorf("Next = %q, %v, want %q", number, err, want)
			}
			time.Sleep(time.Second) // until the second range is there
			n.Invalidate()
		}
	})
}
