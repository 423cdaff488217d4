package dashboard

import (
	"bytes"
	"net/http"
	"time"
)

const (
	// heartbeat is the longest silence on a stream. Viewers take a longer one for a lost
	// connection, proxies for an idle one.
	heartbeat = 5 * time.Second
	// writeTimeout is how long one write may take. A viewer that does not read for so long is let
	// go.
	writeTimeout = 10 * time.Second
)

// A stream is the handler of /events; its caller bounds the number of viewers. A viewer that reads
// slowly misses readings: nothing is queued for it.
type stream struct {
	feed    feed
	servers *servers // nil: no list
	about   []byte
	done    <-chan struct{}
}

func newStream(cfg Config) *stream {
	s := &stream{
		feed:  feed{cfg: cfg, limits: newLimits(cfg)},
		about: event("about", newAbout(cfg, time.Now())),
		done:  cfg.Done,
	}
	if cfg.Store != nil {
		s.servers = &servers{store: cfg.Store, alloc: cfg.Allocator, asked: make(chan struct{}, 1), last: serverList{Servers: []server{}}}
	}
	return s
}

// ServeHTTP sends the stream.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
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
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
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
