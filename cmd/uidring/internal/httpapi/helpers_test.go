package httpapi

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
)

// workers counts the worker IDs that have been used in this process: each generator has another.
var workers atomic.Int64

// newGenerator makes a generator. If cfg does not say otherwise its epoch was an hour ago, by the
// clock of the test, and its worker ID is new.
func newGenerator(t testing.TB, cfg cached.Config) *cached.Generator {
	t.Helper()
	if cfg.Assigner == nil {
		cfg.Assigner, cfg.AllowReuse = assigner.Static(workers.Add(1)), true
	}
	if cfg.Epoch.IsZero() {
		cfg.Epoch = time.Now().Add(-time.Hour).Truncate(time.Second)
	}
	return testgen.Cached(t, cfg)
}

// newServer makes the API, of a new generator if cfg has none.
func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Generator == nil {
		cfg.Generator = newGenerator(t, cached.Config{})
	}
	cfg.Listen = cmp.Or(cfg.Listen, "example.com:80") // the Host of requests that httptest makes
	cfg.AdminListen = cmp.Or(cfg.AdminListen, cfg.Listen)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// both is the handler of the two listeners: a path that the API does not know belongs to Admin.
func both(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.routes.find(r.URL.Path) == s.routes.unknown {
			s.Admin().ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(w, r)
	})
}

// pageOf is a page whose paths have one handler.
func pageOf(h http.Handler) map[string]http.Handler {
	return map[string]http.Handler{"/": h, "/assets/a": h, "/assets/main.js": h, "/assets/page.css": h, "/events": h}
}

// newTokens parses a token file without mistakes.
func newTokens(t testing.TB, file string) Tokens {
	t.Helper()
	tokens, err := ParseTokens([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// listen serves h on loopback.
func listen(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	l := httptest.NewServer(h)
	t.Cleanup(l.Close)
	return l
}

// request makes one; headers are "Name: value".
func request(t testing.TB, method, url string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// do sends a request and reads the body.
func do(t testing.TB, c *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// wantMetrics wants lines in the metrics.
func wantMetrics(t *testing.T, s *Server, lines ...string) {
	t.Helper()
	body := call(s, "/metrics", "Authorization", "Bearer "+alice).Body.String()
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
}

// sink is a ResponseWriter with as little cost as possible.
type sink struct {
	header http.Header
	body   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { s.body += len(p); return len(p), nil }
