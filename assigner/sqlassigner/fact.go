package sqlassigner

import (
	"sync"
	"sync/atomic"
	"time"
)

// factFor is how long a fact about a server counts: a right may be granted meanwhile, a plugin be
// installed, or an address lead to a server of another kind.
var factFor = 10 * time.Minute // a test shortens it

// A fact is something that a look has found out about a server, for later looks. Any number of
// goroutines may use it at once.
type fact[T any] struct {
	last atomic.Pointer[learned[T]]
	told sync.Once // of a fact that the log has
}

type learned[T any] struct {
	value T
	at    time.Time
}

// known returns the value, or false if it was not learned lately.
func (f *fact[T]) known() (value T, ok bool) {
	if l := f.last.Load(); l != nil && time.Since(l.at) < factFor {
		return l.value, true
	}
	return value, false
}

func (f *fact[T]) learn(value T) { f.last.Store(&learned[T]{value, time.Now()}) }

func (f *fact[T]) forget() { f.last.Store(nil) }
