package faultconn

import "bytes"

// A Cut is one interruption of a [Wire]. A later cut of the wire replaces it.
type Cut struct {
	wire   *Wire
	marker []byte
	after  bool
	then   func()

	done bool
	sent int
}

// Done reports whether the cut has been made.
func (c *Cut) Done() bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	return c.done
}

// Sent returns how many pieces of data with the marker have gone to the server, also after the cut.
func (c *Cut) Sent() int {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	return c.sent
}

// sent looks for the marker in data from the client, and reports whether to pass the data on.
func (l *link) sent(data []byte) bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	c := l.wire.cut
	if c == nil {
		return true
	}
	// A marker may come in two pieces.
	seen := append(l.tail, data...)
	found := bytes.Contains(seen, c.marker)
	if found {
		seen = nil
	}
	l.tail = bytes.Clone(seen[max(0, len(seen)-len(c.marker)+1):])
	switch {
	case !found:
	case c.done:
		c.sent++
	case !c.after:
		c.done = true
		return false
	default:
		c.sent++
		c.done = true
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mute = c
	}
	return true
}

// answered reports whether to pass an answer of the server on.
func (l *link) answered([]byte) bool {
	l.mu.Lock()
	c := l.mute
	l.mu.Unlock()
	if c != nil && c.then != nil {
		c.then()
	}
	return c == nil
}
