package server

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// A shortage is why the generator has refused the last request for IDs.
type shortage struct{ err error }

// alive answers GET /healthz: that there is an answer is the answer.
func alive(w http.ResponseWriter, _ *http.Request, _ client) *problem {
	return say(w, "ok\n")
}

// ready answers GET /readyz.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request, _ client) *problem {
	if s.draining.Load() {
		return stopping
	}
	if p := s.readiness.look(s.usable); p != nil {
		return p
	}
	return say(w, "ready\n")
}

// usable returns why a request for an ID would fail now, or nil. An empty ring alone is no reason,
// since that is filled when there is a request; it is one when there is nothing to fill it from:
// the window of the lease is used up, or the last request found the ring empty and the generator
// had to refuse.
func (s *Server) usable() *problem {
	short := s.shortage.Load() // first: a ring that is filled after the shortage counts
	stats := s.cfg.Generator.Stats()
	if stats.Remaining > 0 {
		return nil
	}
	if short != nil {
		if p := ofTake(short.err); p == stopping || p == timeExhausted || p == noLease {
			return p
		}
	}
	if stats.Limit != assigner.Unlimited && stats.Window <= 0 {
		return noLease
	}
	return nil
}

// readiness keeps an answer for a moment. The route is open to everybody, and a look at the ring
// holds up its padding.
type readiness struct {
	mu     sync.Mutex
	at     time.Time
	answer *problem
}

func (r *readiness) look(usable func() *problem) *problem {
	const fresh = 100 * time.Millisecond
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) >= fresh {
		r.answer = usable()
		r.at = time.Now()
	}
	return r.answer
}

func say(w http.ResponseWriter, text string) *problem {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
	return nil
}
