package httpapi

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
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

// small is a layout with room for 2 IDs a second.
func small(deltaBits uint8) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: deltaBits, WorkerBits: 12, SequenceBits: 1}
}

// drain draws IDs until the generator has none.
func drain(g *cached.Generator) *cached.Generator {
	for {
		if _, err := g.Next(); err != nil {
			return g
		}
	}
}

func leasedFrom(folder string) assigner.Assigner {
	return assigner.Leased(fileassigner.LeaseStore(folder, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true})
}

// newServer makes the API, of a new generator if cfg has none.
func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Generator == nil {
		cfg.Generator = newGenerator(t, cached.Config{})
	}
	cfg.Listen = cmp.Or(cfg.Listen, "example.com:80") // the Host of requests that httptest makes
	cfg.AdminListen = cmp.Or(cfg.AdminListen, cfg.Listen)
	cfg.MaxAge = cmp.Or(cfg.MaxAge, time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := New(cfg)
	servePage(s, func(http.ResponseWriter, *http.Request) {})
	return s
}

func folder(dir string) segment.Source {
	return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: true})
}

// newSegments returns the segments orders and unused, with counters in a folder.
func newSegments(t *testing.T, dir string) *segments.Set {
	t.Helper()
	set := segments.New([]string{"unused", "orders"}, folder(dir), slog.New(slog.DiscardHandler))
	t.Cleanup(set.Close)
	return set
}

// begunSegments is newSegments after the ID 1 of orders. It waits for the first range longer than a
// request does.
func begunSegments(t *testing.T) *segments.Set {
	t.Helper()
	set := newSegments(t, t.TempDir())
	if id, _, err := set.All()[0].ReserveContext(t.Context(), 1); err != nil || id != 1 {
		t.Fatalf("the first ID is %d, %v; want 1", id, err)
	}
	return set
}

// servePage gives a server a page whose paths have one handler.
func servePage(s *Server, h http.HandlerFunc) {
	s.ServePage(map[string]http.Handler{"/": h, "/assets/a": h, "/events": h})
}

// newTokens parses a token file without mistakes.
func newTokens(t testing.TB, file string) Tokens {
	t.Helper()
	tokens, err := ParseTokens([]byte(file))
	testkit.Must(t, err)
	return tokens
}

const (
	alice = "alice-alice-alice"
	bob   = "bob-bob-bob-bob-bob"
)

// answered returns the answer to a request, which is as openapi.json describes it. A path that the
// API does not know belongs to Admin.
func answered(s *Server, r *http.Request) *httptest.ResponseRecorder {
	w, h := httptest.NewRecorder(), http.Handler(s)
	if s.routes.find(r.URL.Path) == s.routes.unknown {
		h = s.Admin()
	}
	h.ServeHTTP(w, r)
	check(r, w)
	return w
}

// call is GET without a network, as a bubble of synctest wants it. The headers are names and values
// in turn.
func call(s *Server, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return answered(s, r)
}

type said struct {
	Type, Title, Detail string
	Status              int
}

// wantProblem checks the properties that all problems share.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, name, given string) (p said) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(w.Body.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.Type != problemPage+name || p.Status != w.Code || p.Title == "" || p.Detail == "" ||
		w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d, %v, %v: %.300s; want %s", given, w.Code, w.Header(), err, w.Body, name)
	}
	return p
}
