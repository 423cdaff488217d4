package dashboard

import (
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
	feed   feed
	about  []byte
	places chan struct{} // one for each viewer
	done   <-chan struct{}
}

func newStream(cfg Config) *stream {
	return &stream{
		feed:   feed{stats: cfg.Stats, segments: cfg.Segments, interval: cfg.Interval},
		about:  event("about", newAbout(cfg)),
		places: make(chan struct{}, cfg.Viewers),
		done:   cfg.Done,
	}
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
	if !write(s.about) {
		return
	}
	var seen *reading
	for {
		text := []byte(":\n\n") // a comment: the heartbeat
		if now := s.feed.latest(); now != seen {
			seen, text = now, now.event
		}
		if !write(text) {
			return
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
