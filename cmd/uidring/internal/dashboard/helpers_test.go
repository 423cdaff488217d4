package dashboard_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testgen"
)

// leaseWindow outlasts a short fault of the store.
const leaseWindow = 30 * time.Second

// A service is the API with the page before a generator. It keeps its address when it is stopped
// and started.
type service struct {
	t         *testing.T
	generator *cached.Generator
	calls     dashboard.StoreCalls
	folder    string        // of the store of worker IDs
	window    time.Duration // of the leases
	alloc     *bitsalloc.Allocator
	tokens    httpapi.Tokens
	segments  *segments.Set // nil: none; applies when it starts
	addr      string
	tabs      []*tab
	stop      func() // does nothing when it is stopped; closes tabs that cannot be without the service
}

// newService starts a service with a store of its own. tokens is the text of a token file; empty:
// no tokens are required. window is the window of its lease.
func newService(t *testing.T, tokens string, window time.Duration) *service {
	t.Helper()
	s := &service{t: t, window: window, folder: filepath.Join(t.TempDir(), "ids"), addr: "127.0.0.1:0", stop: func() {}}
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := cached.Config{Assigner: s.leased("ids-1 pid 33"), Trace: s.calls.Trace()}
	s.generator = testgen.Cached(t, cfg)
	var err error
	if s.alloc, err = bitsalloc.New(bitsalloc.Default(), cfg.Epoch); err != nil {
		t.Fatal(err)
	}
	if tokens != "" {
		if s.tokens, err = httpapi.ParseTokens([]byte(tokens)); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// leased returns an assigner that leases from the service's store for an owner.
func (s *service) leased(owner string) assigner.Assigner {
	// The temporary folder may be kept in memory, which leases refuse otherwise.
	return assigner.Leased(fileassigner.LeaseStore(s.folder), assigner.LeaseConfig{AllowUndurable: true, Owner: owner, Window: s.window})
}

// loseStore takes the store away, and returns a func that brings it back, at the latest when the
// test ends.
func (s *service) loseStore() (back func()) {
	s.t.Helper()
	move := func(from, to string) {
		s.t.Helper()
		if err := os.Rename(from, to); err != nil {
			s.t.Fatal(err)
		}
	}
	move(s.folder, s.folder+".lost")
	back = sync.OnceFunc(func() { move(s.folder+".lost", s.folder) })
	s.t.Cleanup(back)
	return back
}

func (s *service) url() string { return "http://" + s.addr }

// start listens again, as another process would: with a page and an API of its own, and the same
// generator.
func (s *service) start() {
	s.t.Helper()
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	var api *httpapi.Server
	page := dashboard.New(dashboard.Config{
		Stats: s.generator.Stats, Segments: s.segments, Allocator: s.alloc, Interval: 200 * time.Millisecond, Done: done,
		Unready: func() string { return api.Unready() }, Refusal: func() string { return api.Refusal() },
		Metrics:    func() prometheus.Gatherer { return api.RequestMetrics() },
		StoreCalls: &s.calls, Store: fileassigner.LeaseStore(s.folder), StoreName: "file:///var/lib/uidring", Window: s.window, Tokens: s.tokens.Len() > 0,
		Version: "v1.2.3", Host: "ids-1", Namespace: "orders", APIPort: port,
	})
	api, err = httpapi.New(httpapi.Config{
		Settings:  httpapi.Settings{Logger: slog.New(slog.DiscardHandler)},
		Generator: s.generator,
		Segments:  s.segments,
		Tokens:    func() httpapi.Tokens { return s.tokens },
		Page:      page.Handlers(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	admin := api.Admin()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/ids" { // of the other listener
			api.ServeHTTP(w, r)
			return
		}
		admin.ServeHTTP(w, r)
	}
	web := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Second, WriteTimeout: time.Second}
	var group sync.WaitGroup
	group.Go(func() { page.Run(ctx) })
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	s.stop = func() {
		s.stop = func() {}
		for _, p := range s.tabs {
			if !p.outlives {
				p.close()
			}
		}
		close(done)
		ending, end := context.WithTimeout(context.Background(), poll.Patience)
		defer end()
		if err := web.Shutdown(ending); err != nil {
			s.t.Errorf("shutdown: %v", err)
		}
		<-ended
		cancel()
		group.Wait()
	}
}

// withSegments starts the service again with segments, whose counters are in a folder.
func (s *service) withSegments(names ...string) {
	s.t.Helper()
	source := fileassigner.SegmentSource(s.t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})
	s.segments = segments.New(names, source, slog.New(slog.DiscardHandler))
	s.t.Cleanup(s.segments.Close)
	s.stop()
	s.start()
}

// load draws IDs from the API until the test ends. There may be none, which the page shows.
func (s *service) load() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for range time.Tick(5 * time.Millisecond) {
			if ctx.Err() != nil {
				return
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/v1/ids?n=1000", nil)
			if err != nil {
				s.t.Error(err)
				return
			}
			if answer, err := http.DefaultClient.Do(r); err == nil { // else the service is stopped
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	})
	s.t.Cleanup(func() { cancel(); group.Wait() })
}
