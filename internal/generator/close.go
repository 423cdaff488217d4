package generator

import "sync/atomic"

// A Closer closes a generator once. Make one with NewCloser. Callers that wait for the first Close
// wait at a channel: at the mutex of sync.OnceValue they would stop the clock of a synctest bubble.
type Closer struct {
	closed     atomic.Bool
	done, gone chan struct{} // closed when Close begins, and when it has ended
	err        error         // may be read after gone is closed
}

// NewCloser returns a Closer of a generator that is open.
func NewCloser() *Closer { return &Closer{done: make(chan struct{}), gone: make(chan struct{})} }

// Close calls end the first time. All calls return its error when it has returned.
func (c *Closer) Close(end func() error) error {
	if !c.closed.Swap(true) {
		close(c.done)
		defer close(c.gone) // also when end panics
		c.err = end()
		return c.err
	}
	<-c.gone
	return c.err
}

// Closed reports whether Close has begun.
func (c *Closer) Closed() bool { return c.closed.Load() }

// Done returns a channel that is closed when Close begins.
func (c *Closer) Done() <-chan struct{} { return c.done }
