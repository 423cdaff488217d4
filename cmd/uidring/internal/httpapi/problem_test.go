package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/generator"
)

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
		s := newServer(t, Config{Generator: row.g})
		if name == "none-ready" { // else the request waits
			s.shortage.Store(&shortage{cached.ErrEmpty, time.Now()})
		}
		w := call(s, "/v1/ids?n=100000") // more than the small formats have: IDs drawn before the error are spent
		wantProblem(t, w, name, name)
		if w.Code != row.status || w.Header().Get("Retry-After") != row.retry {
			t.Errorf("%s: %d, Retry-After %q; want %d, %q", name, w.Code, w.Header().Get("Retry-After"), row.status, row.retry)
		}
		if strings.Contains(w.Body.String(), "uidring: ") || strings.Contains(w.Body.String(), os.TempDir()) {
			t.Errorf("the client learns of %s", w.Body)
		}
	}
	for wait, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90"} {
		w := httptest.NewRecorder()
		new(supply).problem(generator.Passing{Err: cached.ErrTooFarAhead, After: wait}).write(w)
		if w.Header().Get("Retry-After") != want {
			t.Errorf("again after %v: Retry-After %q, want %q", wait, w.Header().Get("Retry-After"), want)
		}
	}
}

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Config{Settings: Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	servePage(s, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/assets/a" {
			_, _ = w.Write([]byte("half"))
		}
		panic("the secret of the page")
	})
	w := call(s, "/")
	if wantProblem(t, w, "internal", "a panic"); strings.Contains(w.Body.String(), "secret") || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%v %s; want no word of the cause, and no header of the answer that failed", w.Header(), w.Body)
	}
	for _, part := range []string{`msg="panic while answering a request"`, "method=GET", "path=/", `panic="the secret of the page"`, "problem_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log has no %s: %s", part, log.String())
		}
	}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("an answer that is sent in part is not cut off")
			}
		}()
		call(s, "/assets/a")
	}()
	wantMetrics(t, s, `uidring_http_requests_total{code="500",route="/"} 1`, `uidring_http_requests_total{code="200",route="/assets/"} 1`)
}

// Clients, strangers and the page take no place from each other.
func TestLimitOfRequestsUnderWay(t *testing.T) {
	s := newServer(t, Config{})
	api, open, page := []string{"/v1/id", "/v1/ids?n=10", "/v1/parse/5"}, []string{"/openapi.json"}, []string{"/", "/assets/a", "/nowhere"}
	for _, tt := range []struct {
		places          *places
		refused, served []string
	}{{s.routes.places, api, append(open, page...)}, {s.routes.open, open, append(api, page...)}, {s.admin.open, page, append(api, open...)}} {
		tt.places.under.Store(mostRequests - 1)
		if w := call(s, tt.refused[0]); w.Code != 200 {
			t.Errorf("%s: %d in the last place, want 200", tt.refused[0], w.Code)
		}
		tt.places.under.Store(mostRequests)
		for _, path := range tt.refused {
			w := call(s, path)
			if wantProblem(t, w, "overloaded", path); w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: Retry-After %q; want 1", path, w.Header().Get("Retry-After"))
			}
		}
		for _, path := range append(tt.served, "/healthz", "/readyz", "/metrics") {
			if w := call(s, path); w.Code == 503 {
				t.Errorf("%s beside %q: 503", path, tt.refused)
			}
		}
		tt.places.under.Store(0)
	}
}
