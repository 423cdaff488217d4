package generator

import "sync"

// A Notifier wakes the goroutines that wait. A goroutine calls Wait, then checks whether it still
// has to wait, then receives from the channel; so it does not miss a Wake in between. The zero
// Notifier is ready to use.
type Notifier struct {
	mu sync.Mutex
	ch chan struct{} // nil while no goroutine waits
}

// Wait returns a channel that the next Wake closes.
func (n *Notifier) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

// Wake wakes all waiting goroutines.
func (n *Notifier) Wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}

// Signal puts a token into a channel of capacity 1, unless the channel is full.
func Signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
