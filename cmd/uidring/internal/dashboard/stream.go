package dashboard

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

const (
	// heartbeat is the longest silence on a stream. Viewers take a longer one for a lost
	// connection, proxies for an idle one.
	heartbeat = 5 * time.Second
	// patience is how long one write may take. A viewer that does not read for so long is let go.
	patience = 10 * time.Second
)

// A stream is the handler of /events. A viewer that reads slowly misses readings: nothing is queued
// for it.
type stream struct {
	feed    feed
	servers *servers // nil: no list
	about   []byte
	places  chan struct{} // one for each viewer
	done    <-chan struct{}
}

func newStream(cfg Config) *stream {
	s := &stream{
		feed:   feed{cfg: cfg, limits: newLimits(cfg)},
		about:  event("about", newAbout(cfg, time.Now())),
		places: make(chan struct{}, cfg.Viewers),
		done:   cfg.Done,
	}
	if cfg.Store != nil {
		s.servers = &servers{store: cfg.Store, alloc: cfg.Allocator, asked: make(chan struct{}, 1), last: serverList{Servers: []server{}}}
	}
	return s
}

// ServeHTTP sends the stream, to at most Viewers at a time.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		w.Header().Set("Retry-After", "10")
		problem(w, http.StatusServiceUnavailable, fmt.Sprintf("%d viewers are connected, which is the limit; close one or try again later", cap(s.places)))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	if r.Method == http.MethodHead {
		return
	}
	s.send(w, r)
}

func (s *stream) send(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // the server's, made for requests that end; not every writer has one
	write := func(text []byte) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, err := w.Write(text)
		return err == nil && conn.Flush() == nil
	}
	if !write(s.about) || !write(s.feed.past()) {
		return
	}
	var seen *reading
	var list []byte // of servers, as sent last
	for {
		text := []byte(":\n\n") // a comment: the heartbeat
		if now := s.feed.latest(); now != seen {
			seen, text = now, now.event
		}
		if !write(text) {
			return
		}
		if s.servers != nil {
			if now := s.servers.latest(); !bytes.Equal(now, list) {
				if list = now; !write(list) {
					return
				}
			}
		}
		select {
		case <-time.After(min(time.Until(s.feed.due(seen)), heartbeat)):
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
}
