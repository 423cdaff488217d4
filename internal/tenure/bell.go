package cached

import "sync"

// A bell wakes everybody who waits for it. Take the channel first, look whether there is still reason to
// wait, then wait: a ring in between is not missed.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody waits
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// signal puts a token into a channel of capacity 1, unless there is one already.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
