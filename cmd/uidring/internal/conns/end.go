package conns

import (
	"context"
	"time"
)

// EndNew waits until each connection without a first request has sent it, and closes connections
// that are older than Config.FirstRequest. It returns when none is left, or when ctx ends. Call it
// after the listener was closed and before http.Server.Shutdown, which drops the first request of
// such a connection without an answer, or waits for it for five seconds.
func (s *Set) EndNew(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // before noneNew: a connection with its first request needs a moment until Shutdown no longer drops it
		case <-ctx.Done():
			return
		}
		if s.noneNew() {
			return
		}
	}
}

// noneNew closes the connections without a first request that are older than Config.FirstRequest,
// and reports whether no others are left.
func (s *Set) noneNew() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	none := true
	for e := s.idle.Front(); e != nil; {
		c := e.Value.(*conn)
		e = e.Next() // before remove
		switch {
		case c.accepted.IsZero():
		case c.isIdle():
			s.remove(c)
			_ = c.Conn.Close()
		default:
			none = false
		}
	}
	return none
}
