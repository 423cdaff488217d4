package segment_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

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
