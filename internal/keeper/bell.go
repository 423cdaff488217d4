package keeper

import "sync"

// A Bell is a notifier: Ring wakes the goroutines that wait. A goroutine calls Wait, then checks
// whether it still has to wait, then receives from the channel; so it does not miss a Ring in
// between. The zero Bell is ready to use.
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

// Ring wakes all waiting goroutines.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
