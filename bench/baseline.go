package main

import (
	"context"
	"sync"
	"sync/atomic"
)

// lonely keeps a word that goroutines fight over away from all others.
type lonely[T any] struct {
	_     [64]byte
	value T
	_     [64]byte
}

// atomicAdds counts with one shared word, which is the least that one ordered stream of numbers costs. Like the
// load, a baseline keeps what it gets and counts it.
func atomicAdds() work {
	n := new(lonely[atomic.Uint64])
	return func(_ context.Context, stop *atomic.Bool) (tally, error) {
		var t tally
		for more := true; more; more = !stop.Load() {
			for range stride {
				t.last = int64(n.value.Add(1))
				t.ids++
			}
		}
		return t, nil
	}
}

// mutexCounts is what one would write without thinking of speed.
func mutexCounts() work {
	n := new(lonely[struct {
		sync.Mutex
		n uint64
	}])
	return func(_ context.Context, stop *atomic.Bool) (tally, error) {
		var t tally
		for more := true; more; more = !stop.Load() {
			for range stride {
				n.value.Lock()
				n.value.n++
				t.last = int64(n.value.n)
				n.value.Unlock()
				t.ids++
			}
		}
		return t, nil
	}
}
