// Package server is the HTTP API of the ID service, as an http.Handler. It knows nothing of stores,
// files and TLS: the owner of a [Server] gives it a generator and the tokens, and runs it behind a
// listener with timeouts and a limit on the size of headers.
//
// A request passes, in this order: the route, the method, the length of its URL and body, the
// number of requests under way, the token, and then, for /v1, the limit on IDs a second. The first
// of them that says no answers it, with a problem of RFC 9457.
package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/cached"
)

// LargestBatch is the most IDs that a server may be set up to give out at once. It is also in
// openapi.json.
const LargestBatch = 100_000

// A Config says what is served, to whom, and how much.
type Config struct {
	// Generator issues the IDs. It is required, and stays its owner's: the server does not close
	// it.
	Generator *cached.Generator
	// Tokens returns the present set; it is called for every request, by many goroutines at once. A
	// nil func or the zero Tokens let everybody in.
	Tokens func() Tokens
	// MaxBatch is the most IDs that a request may ask for, 1 to 100,000; zero: 100,000.
	MaxBatch int
	// Rate is the number of IDs a second that each name of Tokens may draw, or, without tokens, all
	// clients together. Under /v1 a request without IDs counts as one. Zero: no limit.
	Rate float64
	// Burst is the number of IDs that may be drawn at once after a pause, at least MaxBatch; zero:
	// Rate, or MaxBatch where that is more.
	Burst int
	// MaxConcurrent is the number of requests under /v1 that are under way at once, and of those
	// for which no token is needed, 1 or more; zero: 1,024. Probes, scrapes of metrics and /events
	// do not count.
	MaxConcurrent int
	// Page serves /, /assets/ and /events, of which it limits the number; nil: none of them is
	// there. The files are open to everybody, /events is not.
	Page http.Handler
	// Store is the store of the worker ID, for the metric uidring_store_info; without an ID there
	// is no such metric.
	Store Store
	// Logger gets a record for each panic of a handler; nil: none.
	Logger *slog.Logger
}

// A Store says which store a worker ID is from.
type Store struct {
	Name, Namespace string
	ID              string // of the namespace: servers whose IDs never meet have the same one
	Local           bool   // it is a file or folder of this host
}

// A Server is the API. It may be used by any number of goroutines at once.
type Server struct {
	cfg       Config // resolved
	routes    routes
	clients   *clients
	batches   sync.Pool // of *batch
	shortage  atomic.Pointer[shortage]
	draining  atomic.Bool
	readiness readiness
}

// New checks cfg, reports all mistakes at once, and returns the API.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, clients: newClients(cfg.Rate, cfg.Burst)}
	s.batches.New = func() any { return newBatch() }
	metrics, err := newMetrics(cfg.Generator.Stats, cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.routes = s.newRoutes(metrics)
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.find(r.URL.Path).ServeHTTP(w, r)
}

// Drain makes /readyz answer 503 from now on, so that load balancers send their requests elsewhere.
// All else is answered as before. Call it some seconds before the server stops to listen.
func (s *Server) Drain() { s.draining.Store(true) }

func (cfg Config) resolve() (Config, error) {
	if cfg.Tokens == nil {
		cfg.Tokens = func() Tokens { return Tokens{} }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = LargestBatch
	}
	if cfg.MaxConcurrent == 0 {
		cfg.MaxConcurrent = 1024
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("server: "+format, args...))
		}
	}
	check(cfg.Generator != nil, "Generator is missing")
	check(cfg.MaxBatch >= 1 && cfg.MaxBatch <= LargestBatch, "MaxBatch %d, allowed: 1 to %d", cfg.MaxBatch, LargestBatch)
	check(cfg.Rate >= 0 && cfg.Rate <= math.MaxInt32, "Rate %v, allowed: 0 (no limit) to %d IDs a second", cfg.Rate, math.MaxInt32)
	if cfg.Burst == 0 {
		cfg.Burst = max(cfg.MaxBatch, int(min(cfg.Rate, math.MaxInt32)))
	}
	check(cfg.Burst >= cfg.MaxBatch, "Burst %d, allowed: 0 (the default), or at least MaxBatch, %d", cfg.Burst, cfg.MaxBatch)
	check(cfg.MaxConcurrent >= 1, "MaxConcurrent %d, allowed: 1 or more", cfg.MaxConcurrent)
	return cfg, errors.Join(errs...)
}
