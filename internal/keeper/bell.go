package keeper

import "sync"

// A Bell wakes the goroutines that wait for it. Take the channel of Wait first, look whether there
// is still reason to wait, then wait: a ring in between is not missed. The zero Bell is ready.
type Bell struct {
	mu sync.Mutex
	ch chan struct{} // nil while no goroutine waits
}

// Wait returns a channel that the next Ring closes.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
