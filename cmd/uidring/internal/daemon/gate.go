package daemon

import (
	"net/http"
	"sync/atomic"

	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// A gate is the handler of a listener. It answers httpapi.Starting until its handler is known. At
// the end of the process it closes connections together with an answer: closing an idle connection
// could lose a request.
type gate struct {
	handler atomic.Pointer[http.Handler] // nil: the worker ID is being taken
	ending  atomic.Bool
}

func (g *gate) open(h http.Handler) { g.handler.Store(&h) }

func (g *gate) drain() { g.ending.Store(true) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.ending.Load() {
		w.Header().Set("Connection", "close") // net/http sends GOAWAY on HTTP/2
	}
	if h := g.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	httpapi.Starting(w, r)
}
