package httpapi

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// A shortage is the error with which the generator rejected the last request for IDs.
type shortage struct {
	err error
	at  time.Time
}

// alive handles GET /healthz. It always answers 200.
func alive(w http.ResponseWriter, _ *http.Request, _ client) *problem {
	return writeText(w, "ok\n")
}

// Starting answers requests of either listener until there is a [Server], which needs a worker ID:
// the process is alive, but not ready.
func Starting(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), r)
	if r.URL.Path == "/healthz" {
		_ = alive(w, r, client{})
		return
	}
	w.Header().Set("Refresh", "1") // browsers ignore Retry-After
	starting.write(w)
}

// ready handles GET /readyz.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request, _ client) *problem {
	if p := s.unready(); p != nil {
		return p
	}
	return writeText(w, "ready\n")
}

// unready returns the reason why the server is not ready, or nil.
func (s *Server) unready() *problem {
	if s.draining.Load() {
		return stopping
	}
	return s.readiness.look(s.usable)
}

// usable returns the problem that a request for an ID would get now, or nil. An empty ring alone is
// not a problem, because the next request fills it. It is a problem if the window of the lease is
// used up, if the generator rejected the last request, or if ID time is as far ahead of the clock
// as it may be.
func (s *Server) usable() *problem {
	if p := s.pace.unready(); p != nil {
		return p
	}
	short := s.shortage.Load() // before Stats: IDs that arrive after the shortage count
	stats := s.cfg.Generator.Stats()
	if stats.Remaining > 0 {
		return nil
	}
	if short != nil {
		p := ofTake(short.err)
		if p == stopping || p == timeExhausted || p == noLease {
			return p
		}
		if p.name == tooFarAhead.name && time.Since(short.at) < p.retryAfter {
			return p
		}
	}
	if stats.Limit != assigner.Unlimited && stats.Window <= 0 {
		return noLease
	}
	return nil
}

// readiness caches the answer of /readyz. The route needs no token, and reading the ring's state
// delays padding.
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

func writeText(w http.ResponseWriter, text string) *problem {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
	return nil
}
