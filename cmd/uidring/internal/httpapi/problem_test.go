package httpapi

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

type said struct {
	Type, Title, Detail string
	Status              int
}

// wantProblem checks the properties that all problems share.
func wantProblem(t *testing.T, answer *http.Response, body, name string) said {
	t.Helper()
	var p said
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	h := answer.Header
	if h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers of a problem: %v", h)
	}
	if p.Type != problemPage+name || p.Status != answer.StatusCode || p.Title == "" || p.Detail == "" {
		t.Errorf("status %d: %s; want %s with that status, a title and a detail", answer.StatusCode, body, name)
	}
	return p
}

// small is a layout with room for 2 IDs a second.
func small(deltaBits uint8) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: deltaBits, WorkerBits: 12, SequenceBits: 1}
}

// ended is a generator that has reached the end of its layout.
func ended(t *testing.T) *cached.Generator {
	g := newGenerator(t, cached.Config{
		Layout: small(10), Epoch: time.Now().Add(-1000 * time.Second).Truncate(time.Second), BoostPower: 1,
	})
	for {
		if _, err := g.Next(); err != nil {
			return g
		}
	}
}

// stopped is a generator that is closed.
func stopped(t *testing.T) *cached.Generator {
	g := newGenerator(t, cached.Config{})
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return g
}

// cutOff is a generator that has used up its window and cannot reach its store; with restore it
// can.
func cutOff(t *testing.T) (_ *cached.Generator, restore func()) {
	store := t.TempDir()
	g := newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, Assigner: assigner.Leased(fileassigner.LeaseStore(store), assigner.LeaseConfig{AllowUndurable: true})})
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(store, store+".away")
	restored := false
	restore = func() {
		if !restored {
			move(store+".away", store)
			restored = true
		}
	}
	t.Cleanup(restore) // before the generator is closed
	for {
		if _, err := g.Next(); err != nil {
			return g, restore
		}
	}
}

func TestProblemOfEachErrorOfTheGenerator(t *testing.T) {
	without, _ := cutOff(t)
	for name, row := range map[string]struct {
		g      *cached.Generator
		status int
		retry  string
	}{
		"shutting-down":  {stopped(t), 503, ""},
		"time-exhausted": {ended(t), 500, ""},
		"no-lease":       {without, 503, ""},
		"none-ready":     {newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, OnEmpty: cached.Reject}), 503, "1"},
		"too-far-ahead":  {newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, MaxAhead: time.Hour}), 503, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, Config{Generator: row.g})
			// More than the small formats have: IDs drawn before the error are spent.
			w := call(s, "/v1/ids?n=100000")
			answer, body := w.Result(), w.Body.String()
			if answer.StatusCode != row.status || answer.Header.Get("Retry-After") != row.retry {
				t.Errorf("%d, Retry-After %q; want %d, %q", answer.StatusCode, answer.Header.Get("Retry-After"), row.status, row.retry)
			}
			wantProblem(t, answer, body, name)
			if strings.Contains(body, "cached:") || strings.Contains(body, os.TempDir()) {
				t.Errorf("the client learns of %s", body)
			}
		})
	}
}

func TestProblemHasRetryAfterOfAnAheadError(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
	} {
		w := httptest.NewRecorder()
		ofTake(&cached.AheadError{RetryIn: wait}).write(w)
		if w.Header().Get("Retry-After") != want {
			t.Errorf("RetryIn %v: Retry-After %q, want %q", wait, w.Header().Get("Retry-After"), want)
		}
	}
}

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	var log bytes.Buffer
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		panic("the secret of the page")
	})
	s := newServer(t, Config{Settings: Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Page: pageOf(page)})
	answer, body := do(t, http.DefaultClient, request(t, "GET", listen(t, both(s)).URL+"/"))
	if p := wantProblem(t, answer, body, "internal"); p.Status != 500 || strings.Contains(body, "secret") {
		t.Errorf("%d: %s; want 500 and no word of the cause", p.Status, body)
	}
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" {
		t.Errorf("the problem is encoded as what failed: %s", encoding)
	}
	for _, part := range []string{`msg="panic while answering a request"`, "method=GET", "path=/", `panic="the secret of the page"`, "problem_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log has no %s: %s", part, log.String())
		}
	}
	wantMetrics(t, s, `uidring_http_requests_total{code="500",route="/"} 1`)
}

func TestPanicInTheMiddleCutsTheAnswer(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic("halfway")
	})
	s := newServer(t, Config{Page: pageOf(page)})
	answer, err := http.DefaultClient.Do(request(t, "GET", listen(t, both(s)).URL+"/"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err == nil || body.String() != "half" {
		t.Errorf("%q, %v; want a half and an error", body.String(), err)
	}
	wantMetrics(t, s, `uidring_http_requests_total{code="200",route="/"} 1`)
}

// A stuck client does not read the answer.
type stuck struct {
	*httptest.ResponseRecorder
	arrived, leave chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	s.arrived <- struct{}{}
	<-s.leave
	return s.ResponseRecorder.Write(p)
}

// TestLimitOfRequestsUnderWay: the page takes no place from clients, nor clients from the page.
func TestLimitOfRequestsUnderWay(t *testing.T) {
	held := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })
	s := newServer(t, Config{Page: pageOf(held)})
	api, open := []string{"/v1/id", "/v1/ids?n=10", "/v1/parse/5", "/openapi.json"}, []string{"/", "/assets/page.css", "/nowhere"}
	for _, tt := range []struct {
		held            string
		refused, served []string
	}{
		{"/v1/ids?n=10", api, open},
		{"/", open, api},
	} {
		var clients sync.WaitGroup
		arrived, leave := make(chan struct{}), make(chan struct{})
		for range mostRequests {
			clients.Go(func() {
				both(s).ServeHTTP(stuck{httptest.NewRecorder(), arrived, leave}, httptest.NewRequestWithContext(t.Context(), "GET", tt.held, nil))
			})
			<-arrived
		}
		for _, path := range tt.refused {
			w := call(s, path)
			wantProblem(t, w.Result(), w.Body.String(), "overloaded")
			if w.Code != 503 || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d, Retry-After %q; want 503, 1", path, w.Code, w.Header().Get("Retry-After"))
			}
		}
		for _, path := range append(tt.served, "/healthz", "/readyz", "/metrics") {
			if w := call(s, path); w.Code == 503 {
				t.Errorf("%s while %s is held: 503", path, tt.held)
			}
		}
		close(leave)
		clients.Wait()
		if w := call(s, tt.refused[0]); w.Code != 200 {
			t.Errorf("%s: %d when there is room again, want 200", tt.refused[0], w.Code)
		}
	}
}

// TestProblemsAreDocumented follows the type of each problem to its heading.
func TestProblemsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/SERVICE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*problem{badRequest, invalidID, notFound, badMethod, unknownHost, crossSite, unacceptable, hasBody, longURL, unauthorized,
		tooManyIDs, overloaded, starting, noneReady, tooFarAhead, noLease, noRange, stopping, timeExhausted, segmentEnded, internal} {
		if !strings.Contains(string(page), "\n#### "+p.name+"\n") {
			t.Errorf("SERVICE.md has no heading %s", p.name)
		}
	}
}
