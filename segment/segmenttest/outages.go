package segmenttest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/segment"
)

// Outages kills the store several times while generators take IDs, counts every ID, and checks the
// number of lost IDs: the ranges in hand at the end, and for each kill one range of each generator,
// since the answer to its call may be lost. kill must end the store as a crash does, and restart
// start it with the same data.
func Outages(t *testing.T, f Fixture, kill, restart func()) {
	const generators, step, kills = 3, 50, 4
	name := f.counter(t)
	var all idset.Set
	var wg sync.WaitGroup
	stop, wants, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	halt := sync.OnceFunc(func() { close(stop) })
	defer wg.Wait() // no goroutine reports after the end of the test
	defer halt()
	for range generators {
		g, err := segment.New(segment.Config{Name: name, Source: f.Open(t), Step: step, MaxStep: step, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		wg.Go(func() {
			var last int64
			for {
				id, err := g.NextContext(t.Context())
				if err != nil {
					t.Error(err)
					end()
					return
				}
				if id <= last {
					t.Errorf("ID %d after %d", id, last)
				}
				last = id
				all.Once(t, id)
				select {
				case <-stop:
					return
				case <-t.Context().Done():
					return
				case <-wants:
				}
			}
		})
	}
	issue := func(n int, within time.Duration) (ok bool) {
		for range n {
			select {
			case wants <- struct{}{}:
			case <-ended:
				return false
			case <-time.After(within):
				return false
			}
		}
		return true
	}
	for range kills {
		if !issue(200+rand.IntN(400), patience) {
			t.Fatal("the generators have stopped")
		}
		kill()
		issue(step, 100*time.Millisecond) // from the ranges ahead, as long as they last
		restart()
	}
	if !issue(200, patience) {
		t.Error("the generators have stopped after an outage")
	}
	halt()
	wg.Wait()
	f.checkLost(t, name, &all, generators*step*(2+kills))
}

// checkLost compares the counter with the IDs issued.
func (f Fixture) checkLost(t *testing.T, name string, all *idset.Set, most int64) {
	t.Helper()
	lost := (f.advance(t, f.Open(t), name, 1).First-1)/f.delta() - int64(all.Len())
	t.Logf("%d IDs issued, %d lost, allowed: %d", all.Len(), lost, most)
	if lost < 0 || lost > most {
		t.Errorf("%d IDs lost of %d, allowed: 0 to %d", lost, all.Len(), most)
	}
}
