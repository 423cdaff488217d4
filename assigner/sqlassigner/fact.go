package sqlassigner

import (
	"sync/atomic"
	"time"
)

// factFor is how long a fact about a server counts: a right may be granted meanwhile, a plugin be
// installed, or an address lead to a server of another kind.
var factFor = 10 * time.Minute // a test shortens it

// A fact is something that a look has found out about a server, for later looks. Any number of
// goroutines may use it at once.
type fact[T any] struct{ last atomic.Pointer[learned[T]] }

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

// learn keeps a value, and reports whether it is the first one.
func (f *fact[T]) learn(value T) (first bool) {
	return f.last.Swap(&learned[T]{value, time.Now()}) == nil
}

func (f *fact[T]) forget() { f.last.Store(nil) }
