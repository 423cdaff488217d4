// Package dashboard is the web page of a running ID service: whether it is all right, its present
// figures, the ring, the servers of the namespace, a picture of the ID's bits, and a box that
// parses IDs. It keeps no history: monitoring does.
//
// "/" and "/assets/…" are static files embedded in the program. "/events" is a stream of
// server-sent events with the data of the page: the event "about", once, then an event "stats" per
// second, and "servers" when the list of servers has changed. The caller of [New] decides which
// clients may read it; the page asks for a bearer token when it gets 401.
//
// The page parses IDs and draws one through the API of the same server: GET /v1/parse/{id} and
// GET /v1/id. It sends no request to other hosts; its Content-Security-Policy forbids them.
package dashboard

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
)

// A Config configures the page. All fields are required but Segments, MaxAhead and Done.
type Config struct {
	// About has the names that the page shows.
	About About
	// Stats reads the generator. The page calls it, and the API, from one goroutine at a
	// time and at most once per interval.
	Stats func() cached.Stats
	// API is the API of the service.
	API API
	// StoreCalls has its Trace in the generator.
	StoreCalls *StoreCalls
	// Allocator has the layout and epoch of the generator.
	Allocator *bitsalloc.Allocator
	// Segments are shown in a table; nil: no table.
	Segments *segments.Set
	// Store lists the servers of the namespace. The page reads it at most every 10 s, and only
	// while a viewer is connected.
	Store leasestore.Store
	// Window is LeaseConfig.Window, and MaxAhead the MaxAhead of the generator. The page warns at a
	// third of the window, and at MaxAhead or 5 min. Zero: 2 min, and no MaxAhead.
	Window, MaxAhead time.Duration
	// Done ends the event streams when it is closed. Close it when the service begins to shut down,
	// since http.Server.Shutdown waits for the streams. nil: they end with their requests.
	Done <-chan struct{}
}

// An API is an httpapi.Server, whose methods are these.
type API interface {
	Unready() string
	Refusal() string
	Traffic() (answered, refused, failed int64)
}

// About has the names of a service.
type About struct {
	Version   string `json:"version"`
	Host      string `json:"host"`
	Namespace string `json:"namespace"`
	Tokens    bool   `json:"tokens"`  // clients need one
	APIPort   string `json:"apiPort"` // for the examples of the page; "": the page's
	Store     string `json:"store"`   // of worker IDs, without secrets
	Local     bool   `json:"local"`   // the store is a file or folder of this host
}

// A Page is the page of one service.
type Page struct {
	feed    feed
	servers servers
	about   []byte // the event
	done    <-chan struct{}
}

// New returns the page.
func New(cfg Config) *Page {
	return &Page{
		feed:    feed{cfg: cfg, limits: newLimits(cfg)},
		servers: servers{store: cfg.Store, alloc: cfg.Allocator, asked: make(chan struct{}, 1), last: serverList{Servers: []server{}}},
		about:   event("about", newAbout(cfg, time.Now())),
		done:    cfg.Done,
	}
}

// Handlers returns the handler of each path of the page, for httpapi.Server.ServePage.
func (p *Page) Handlers() map[string]http.Handler {
	all := files()
	all["/events"] = http.HandlerFunc(p.stream)
	return all
}

// Run reads the generator, and lists the servers, until ctx ends. Without it a verdict knows only
// the time with viewers, and there is no list.
func (p *Page) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { p.servers.run(ctx) })
	for ctx.Err() == nil {
		last := p.feed.latest()
		select {
		case <-time.After(time.Until(last.due())):
		case <-ctx.Done():
		}
	}
}

// policy allows the page only its own files and requests to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
