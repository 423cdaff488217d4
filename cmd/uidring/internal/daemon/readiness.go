package daemon

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// readiness answers requests until the API is ready, which needs a worker ID: the process is alive,
// but not ready. At the end of the process it closes connections together with an answer: closing
// an idle connection could lose a request.
type readiness struct {
	api    atomic.Pointer[http.Handler] // nil: the worker ID is being taken
	ending atomic.Bool
}

func (s *readiness) open(api http.Handler) { s.api.Store(&api) }

func (s *readiness) drain() { s.ending.Store(true) }

func (s *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.ending.Load() {
		w.Header().Set("Connection", "close") // net/http sends GOAWAY on HTTP/2
	}
	if api := s.api.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	httpapi.SetHeaders(w.Header(), r)
	if r.URL.Path == "/healthz" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Refresh", "1") // browsers ignore Retry-After
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(w, `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"Starting: a worker ID is being taken."}`)
}
