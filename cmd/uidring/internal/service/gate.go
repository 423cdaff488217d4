package service

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// A gate stands before the API, which cannot be there before the worker ID is. Until then the gate
// answers: alive, but not ready. Towards the end it has clients leave: a connection that is closed
// with an answer loses no request, one that is closed between two may.
type gate struct {
	api    atomic.Pointer[http.Handler] // nil: the worker ID is being taken
	ending atomic.Bool
}

func (g *gate) open(api http.Handler) { g.api.Store(&api) }

func (g *gate) drain() { g.ending.Store(true) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.ending.Load() {
		w.Header().Set("Connection", "close") // HTTP/2 says it in its own way
	}
	if api := g.api.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == "/healthz" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Refresh", "1") // browsers take no notice of Retry-After
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(w, `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"Starting: a worker ID is being taken."}`)
}
