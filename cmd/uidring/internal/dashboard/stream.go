package dashboard

import (
	"bytes"
	"net/http"
	"time"
)

// writeTimeout is how long one write may take. A viewer that does not read for so long is let go.
const writeTimeout = 10 * time.Second

// stream answers GET /events; its caller bounds the number of viewers. A viewer that reads slowly
// misses readings: nothing is queued for it.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	if r.Method == http.MethodHead {
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // the server's, made for requests that end; not every writer has one
	write := func(text []byte) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, err := w.Write(text)
		return err == nil && conn.Flush() == nil
	}
	if !write(p.about) {
		return
	}
	var list []byte // of servers, as sent last
	for {
		last := p.feed.latest()
		if !write(last.event) {
			return
		}
		if now := p.servers.latest(); !bytes.Equal(now, list) {
			if list = now; !write(list) {
				return
			}
		}
		select {
		case <-time.After(time.Until(last.due())):
		case <-r.Context().Done():
			return
		case <-p.done:
			return
		}
	}
}
