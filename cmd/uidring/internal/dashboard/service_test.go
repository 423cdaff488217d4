package dashboard

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The tests run in a zone that is not UTC, which reveals a time printed without .UTC().
func init() { time.Local = time.FixedZone("Asia/Kolkata", 5*3600+1800) }

// quiet is an API without requests.
type quiet struct{ noLease time.Time } // since then; zero: there is a lease

func (q quiet) Unready() string {
	if q.noLease.IsZero() || time.Now().Before(q.noLease) {
		return ""
	}
	return "no-lease"
}
func (quiet) Refusal() string                            { return "" }
func (quiet) Traffic() (answered, refused, failed int64) { return 0, 0, 0 }

// quietly returns the Config of a page without requests or other servers.
func quietly(t *testing.T, l bitsalloc.Layout, stats func() cached.Stats) Config {
	t.Helper()
	return Config{API: quiet{}, StoreCalls: new(StoreCalls), Allocator: testgen.Allocator(t, l, time.Time{}), Stats: stats, Store: fileassigner.LeaseStore(t.TempDir(), fileassigner.Config{}), Window: 30 * time.Second}
}

// A service is the API with the page before a generator. It keeps its address when it is stopped
// and started.
type service struct {
	t         *testing.T
	generator *cached.Generator
	calls     StoreCalls
	folder    string // of the store of worker IDs
	tokens    httpapi.Tokens
	segments  *segments.Set // orders and invoices
	addr      string
	stop      func() // does nothing when it is stopped
}

// window is the window of the leases.
const window = 3 * time.Second

// newService starts a service with a store of its own. tokens is the text of a token file.
func newService(t *testing.T, tokens string) *service {
	t.Helper()
	parsed, err := httpapi.ParseTokens([]byte(tokens))
	testkit.Must(t, err)
	s := &service{t: t, tokens: parsed, folder: filepath.Join(t.TempDir(), "ids"), addr: "127.0.0.1:0"}
	testkit.Must(t, os.Mkdir(s.folder, 0o700))
	s.generator = testgen.Cached(t, cached.Config{Assigner: s.leased("ids-1 pid 33"), Trace: s.calls.Trace()})
	source := fileassigner.SegmentSource(t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})
	s.segments = segments.New([]string{"orders", "invoices"}, source, slog.New(slog.DiscardHandler))
	t.Cleanup(s.segments.Close)
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// leased returns an assigner that leases from the service's store for an owner.
func (s *service) leased(owner string) assigner.Assigner {
	// The temporary folder may be kept in memory, which leases refuse otherwise.
	return assigner.Leased(fileassigner.LeaseStore(s.folder, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true, Owner: owner, Window: window})
}

func (s *service) url() string { return "http://" + s.addr }

// start listens again, as another process would: with a page and an API of its own, and the same
// generator.
func (s *service) start() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	testkit.Must(s.t, err)
	s.addr = listener.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	api := httpapi.New(httpapi.Config{
		Settings: httpapi.Settings{Logger: slog.New(slog.DiscardHandler)}, Generator: s.generator, Segments: s.segments,
		Tokens: func() httpapi.Tokens { return s.tokens },
	})
	done := make(chan struct{})
	page := New(Config{
		About: About{Version: "v1.2.3", Host: "ids-1", Namespace: "orders", Tokens: true, APIPort: port, Store: "file:///var/lib/uidring"},
		Stats: s.generator.Stats, API: api, Segments: s.segments, Allocator: testgen.Allocator(s.t, bitsalloc.Default(), time.Time{}),
		StoreCalls: &s.calls, Store: fileassigner.LeaseStore(s.folder, fileassigner.Config{}), Window: window, Done: done,
	})
	api.ServePage(page.Handlers())
	admin := api.Admin()
	web := &http.Server{ReadHeaderTimeout: time.Second, WriteTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/ids" { // of the other listener
			api.ServeHTTP(w, r)
			return
		}
		admin.ServeHTTP(w, r)
	})}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { page.Run(ctx) })
	group.Go(func() { _ = web.Serve(listener) })
	s.stop = sync.OnceFunc(func() {
		close(done)
		ending, end := context.WithTimeout(context.Background(), testkit.Patience)
		defer end()
		if err := web.Shutdown(ending); err != nil {
			s.t.Errorf("shutdown: %v", err)
		}
		cancel()
		group.Wait()
	})
}

// load draws IDs until the test ends. There may be none, which the page shows.
func (s *service) load() {
	var group sync.WaitGroup
	group.Go(func() {
		for testkit.Pause(s.t.Context(), 5*time.Millisecond) {
			_, _ = s.generator.Fill(make([]int64, 1000))
		}
	})
	s.t.Cleanup(group.Wait)
}
