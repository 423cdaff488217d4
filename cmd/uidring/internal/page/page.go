// Package page is the page of a running ID service: live charts, the worker ID's bits, and a box
// that takes IDs apart.
//
// It has three kinds of paths. "/" and "/assets/…" are files that are the same for everyone,
// embedded in the program. "/events" is a stream of server-sent events that has what the page
// shows: an event "about", once, and then an event "stats" per interval. The owner decides who may
// have it; the page asks for a bearer token when the answer is 401.
//
// The page takes IDs apart and draws one through the API of the same server: GET /v1/parse/{id} and
// GET /v1/id. It asks no other host for anything, and its Content-Security-Policy would not let it.
package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// A Config says what the page shows.
type Config struct {
	// Stats reads the generator; required. It is called by one goroutine at a time, at most once
	// per Interval, and only while somebody looks.
	Stats func() cached.Stats
	// Allocator has the layout and epoch of the generator; required.
	Allocator *bitsalloc.Allocator
	// Version is that of the program.
	Version string
	// StoreName says where worker IDs come from, without secrets.
	StoreName string
	// Interval is the time from one reading to the next, 100 ms to 1 min; zero: 1 s.
	Interval time.Duration
	// Viewers is how many event streams there may be at a time, at least 1; zero: 64. Further ones
	// get status 503.
	Viewers int
	// Done ends the event streams when it is closed, as it should be when the service begins to
	// shut down: http.Server.Shutdown would wait for them. nil: they end with their requests.
	Done <-chan struct{}
}

// New returns the handler of "/", "/assets/…" and "/events". It panics when the Config is wrong,
// with all mistakes: nothing in it comes from outside the program.
func New(cfg Config) http.Handler {
	cfg.Interval = cmp.Or(cfg.Interval, time.Second)
	cfg.Viewers = cmp.Or(cfg.Viewers, 64)
	if err := cfg.check(); err != nil {
		panic(fmt.Sprintf("bug: %v", err))
	}
	mux := http.NewServeMux()
	serveFiles(mux)
	mux.Handle("GET /events", newStream(cfg))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusNotFound, "The page has no such file.")
	})
	return secure(mux)
}

// check reports all mistakes at once.
func (cfg Config) check() error {
	var errs []error
	if cfg.Stats == nil {
		errs = append(errs, errors.New("page: Stats nil, allowed: the generator's"))
	}
	if cfg.Allocator == nil {
		errs = append(errs, errors.New("page: Allocator nil, allowed: that of the generator's layout and epoch"))
	}
	if cfg.Interval < 100*time.Millisecond || cfg.Interval > time.Minute {
		errs = append(errs, fmt.Errorf("page: Interval %v, allowed: 0 (1s) or 100ms to 1m", cfg.Interval))
	}
	if cfg.Viewers < 1 {
		errs = append(errs, fmt.Errorf("page: Viewers %d, allowed: 0 (64) or at least 1", cfg.Viewers))
	}
	return errors.Join(errs...)
}

// policy lets the page load its own files, talk to its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// secure sets the headers that every answer has.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// problem answers with a problem of RFC 9457, as the API does.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The client may have gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}
