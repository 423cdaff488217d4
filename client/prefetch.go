package client

import (
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/internal/generator"
)

const (
	slowAfter    = 100 * time.Millisecond // then another server is asked, too
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	loneliest    = 1 * time.Second // the longest pause while no server is well
)

// A server is a server with its last result.
type server struct {
	name, url string
	streams   []stream // in the order of their last answers; the request under way uses them

	// guarded by Client.mu
	busy       bool      // a request is under way
	asked      time.Time // when the last request began
	failed     time.Time // when the last failure was noticed
	err        error     // of the last request; nil: the server is well
	pause      time.Duration
	early      float64 // by how much of the pause, so that clients do not return at once
	retryAfter time.Duration
}

// prefetch sends requests until the Client is closed.
func (c *Client) prefetch() {
	for {
		c.mu.Lock()
		next := c.send(time.Now())
		c.mu.Unlock()
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-c.wake:
		case <-timer:
		case <-c.ctx.Done():
			return
		}
	}
}

// send sends the requests that are due. It returns when the next one is due unless something
// changes before; zero: none.
func (c *Client) send(now time.Time) (next time.Time) {
	for c.left <= c.cfg.Batch {
		var s *server
		if s, next = c.choose(now); s == nil {
			return next
		}
		s.busy, s.asked = true, now
		c.group.Go(func() { c.ask(s) })
	}
	return time.Time{}
}

// choose returns the server to ask now, or nil and the time to choose again.
func (c *Client) choose(now time.Time) (_ *server, next time.Time) {
	var well *server // idle, and asked longest ago
	expected := c.left
	until := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, s := range c.servers {
		switch {
		case s.busy && s.err == nil && now.Sub(s.asked) < slowAfter:
			expected += c.cfg.Batch
			until(s.asked.Add(slowAfter))
		case s.busy:
		case s.err == nil:
			if well == nil || s.asked.Before(well.asked) {
				well = s
			}
		default:
			retry := c.retryAt(s)
			if !now.Before(retry) {
				return s, next // the others are asked as well, since its answer is not expected
			}
			until(retry)
		}
	}
	if expected > c.cfg.Batch {
		return nil, next
	}
	return well, next
}

// retryAt returns when a server that has failed is asked again.
func (c *Client) retryAt(s *server) time.Time {
	pause := min(s.pause, loneliest)
	for _, other := range c.servers {
		if other.err == nil {
			pause = s.pause
		}
	}
	pause -= time.Duration(s.early * float64(pause))
	return s.failed.Add(max(pause, s.retryAfter))
}

// ask sends a request to a server, and notes the result.
func (c *Client) ask(s *server) {
	blocks, err := c.fetch(s)
	c.mu.Lock()
	before := s.err
	s.busy, s.err = false, err
	if err != nil {
		s.fail(time.Now())
	} else {
		s.pause = 0
		c.blocks = append(c.blocks, blocks...)
		c.left += c.cfg.Batch
	}
	c.mu.Unlock()
	c.changed.Wake()
	generator.Signal(c.wake)
	switch {
	case c.ctx.Err() != nil: // Close has ended the request
	case before == nil && err != nil:
		c.cfg.Logger.Warn("client: a server has failed", "server", s.name, "error", err)
	case before != nil && err == nil:
		c.cfg.Logger.Info("client: the server answers again", "server", s.name)
	}
}

// fail doubles the pause.
func (s *server) fail(now time.Time) {
	s.failed = now
	s.pause, s.early = min(max(2*s.pause, firstPause), longestPause), rand.Float64()/4
	s.retryAfter = 0
	if p, ok := s.err.(*ProblemError); ok {
		s.retryAfter = min(p.retryAfter, longestPause)
	}
}
