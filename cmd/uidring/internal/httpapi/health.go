package httpapi

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// alive handles GET /healthz. It always answers 200.
func alive(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") }

// ready handles GET /readyz.
func (s *Server) ready(a *answer, _ *http.Request) *problem {
	if p := s.unready(); p != nil {
		return p
	}
	writeText(a, "ready\n")
	return nil
}

// A probe is the last answer of usable.
type probe struct {
	mu     sync.Mutex
	at     time.Time
	answer *problem
}

// unready returns the reason why the server is not ready, or nil. It calls usable ten times a
// second at most: /readyz needs no token, and reading the ring's state delays padding.
func (s *Server) unready() *problem {
	if s.draining.Load() {
		return stopping
	}
	s.probe.mu.Lock()
	defer s.probe.mu.Unlock()
	if time.Since(s.probe.at) >= 100*time.Millisecond {
		s.probe.answer, s.probe.at = s.usable(), time.Now()
	}
	return s.probe.answer
}

// usable returns the problem that a request for an ID would get now, or nil. An empty ring alone is
// not a problem, because the next request fills it. It is a problem if the window of the lease is
// used up, if the generator rejected the last request, or if ID time is as far ahead of the clock
// as it may be.
func (s *Server) usable() *problem {
	if wait := s.pace.usedUp(); wait > 0 {
		return tooFarAhead.after(wait)
	}
	short := s.shortage.Load() // before Stats: IDs that arrive after the shortage count
	stats := s.cfg.Generator.Stats()
	if stats.Remaining > 0 {
		return nil
	}
	if short != nil {
		p := s.problem(short.err)
		if p == stopping || p == timeExhausted || p == noLease {
			return p
		}
		if p.name == tooFarAhead.name && time.Since(short.at) < p.retryAfter {
			return p
		}
	}
	if stats.LastGranted != assigner.Unlimited && stats.Window <= 0 {
		return noLease
	}
	return nil
}

func writeText(w http.ResponseWriter, text string) {
	w.Header()["Content-Type"] = types[typeText]
	_, _ = io.WriteString(w, text)
}
