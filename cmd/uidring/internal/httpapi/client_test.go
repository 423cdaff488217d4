package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTokensAreRequiredWhereTheyMatter(t *testing.T) {
	tokens := newTokens(t, "alice "+alice+"\nbob "+bob)
	s := newServer(t, Config{Tokens: func() Tokens { return tokens }})
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/", "/assets/a"} {
		if w := call(s, path); w.Code != 200 {
			t.Errorf("%s without a token: %d, want 200", path, w.Code)
		}
	}
	const missing, wrong = `Bearer realm="uidring"`, `Bearer realm="uidring", error="invalid_token"`
	for _, path := range []string{"/v1/id", "/v1/ids?n=2", "/v1/parse/22079567884713991", "/metrics", "/events"} {
		for authorization, want := range map[string]string{
			"Bearer " + alice: "", "bearer  " + bob: "", "": missing, alice: wrong, "Bearer ": wrong, "Basic " + alice: wrong,
			"Bearer " + alice + "x": wrong, "Bearer " + alice[1:]: wrong, "Bearer " + bob + ",": wrong,
		} {
			w := call(s, path, "Authorization", authorization)
			if got := w.Header().Get("WWW-Authenticate"); got != want || (w.Code == 401) != (want != "") {
				t.Errorf("%s with %q: %d, WWW-Authenticate %q; want %q", path, authorization, w.Code, got, want)
			}
		}
	}
}

func TestRateCountsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Settings: Settings{Rate: 100, Burst: 1000}})
		step := func(path string, status int, retry string) {
			t.Helper()
			if w := call(s, path); w.Code != status || w.Header().Get("Retry-After") != retry {
				t.Errorf("%s: %d, Retry-After %q; want %d, %q: %s", path, w.Code, w.Header().Get("Retry-After"), status, retry, w.Body)
			}
		}
		step("/v1/ids?n=990", 200, "") // 10 left of the burst
		step("/v1/ids?n=11", 429, "1")
		step("/v1/ids?n=8", 200, "")
		step("/v1/id", 200, "")
		step("/v1/parse/22079567884713991", 200, "")
		step("/v1/parse/x", 400, "")
		step("/v1/id", 429, "1")
		step("/v1/parse/22079567884713991", 429, "1")
		step("/v1/parse/x", 400, "")
		step("/v1/ids?n=1000", 429, "10")
		step("/healthz", 200, "")
		time.Sleep(10 * time.Millisecond) // of the bubble: one ID more
		step("/v1/ids?n=2", 429, "1")
		step("/v1/id", 200, "")
		time.Sleep(time.Hour) // no more than the burst
		step("/v1/ids?n=1001", 400, "")
		step("/v1/ids?n=1000", 200, "")
		if w := call(s, "/v1/ids?n=233"); !strings.Contains(w.Body.String(), `"233 may be drawn after 2.33s; allowed are 100 a second."`) {
			t.Errorf("%s; want when the IDs may be drawn", w.Body)
		}
	})
	// Without a burst of its own, a rate admits the IDs of a second.
	for rate, want := range map[float64]int{0: 100_000, 100: 100, 0.001: 1, 2.5: 3, 1e6: 100_000} {
		if s := newServer(t, Config{Settings: Settings{Rate: rate}}); s.batch != want {
			t.Errorf("rate %v: batches of %d, want %d", rate, s.batch, want)
		}
	}
}

// Each name has a limit, metrics and, if its token is wrong, one record for all.
func TestTokensAreCountedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		const successor = "alice-is-someone-else"
		tokens := newTokens(t, "alice "+alice+"\nalice "+successor+"\nbob "+bob)
		s := newServer(t, Config{Settings: Settings{Rate: 1, Burst: 10, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Tokens: func() Tokens { return tokens }})
		draw := func(secret string, status int) {
			t.Helper()
			if w := call(s, "/v1/ids?n=10", "Authorization", "Bearer "+secret); w.Code != status {
				t.Errorf("%s: %d, want %d", secret, w.Code, status)
			}
		}
		draw(alice, 200)
		draw(alice, 429)
		draw(successor, 429)
		draw(bob, 200)
		tokens = newTokens(t, "carol carol-carol-carol\nalice "+successor)
		draw(successor, 429) // a new file is no new burst
		draw("carol-carol-carol", 200)
		for range 61 {
			draw(bob, 401)
			call(s, "/v1/id")
			time.Sleep(time.Second)
		}
		tokens = newTokens(t, "alice "+alice)
		wantMetrics(t, s,
			`uidring_token_requests_total{code="200",token="alice"} 1`,
			`uidring_token_requests_total{code="429",token="alice"} 3`,
			`uidring_token_ids_total{token="alice"} 10`,
			`uidring_token_ids_total{token="bob"} 10`,
			`uidring_token_requests_total{code="401",token="(unknown)"} 61`,
			`uidring_token_requests_total{code="401",token="(missing)"} 61`,
		)
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "msg=\"tokens refused\" remote=192.0.2.1:1234 path=/v1/ids\n") || strings.Contains(text, bob) {
			t.Errorf("the log of 61 refused tokens in a minute:\n%s", text)
		}
	})
}

// The stream ends within a second after its token is gone. Viewers beyond the limit are refused,
// and take no place from others.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens atomic.Pointer[Tokens]
		set := func(file string) {
			parsed := newTokens(t, file)
			tokens.Store(&parsed)
		}
		set("alice " + alice + "\nbob " + bob)
		s := newServer(t, Config{Tokens: func() Tokens { return *tokens.Load() }})
		servePage(s, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var ended atomic.Int64
		view := func() {
			call(s, "/events", "Authorization", "Bearer "+alice)
			ended.Add(1)
		}
		for range mostViewers {
			go view()
		}
		time.Sleep(time.Minute)
		wantProblem(t, call(s, "/events", "Authorization", "Bearer "+alice), "overloaded", "one more viewer")
		wantReady(t, s, "")
		set("alice " + alice)
		time.Sleep(time.Minute)
		if n := ended.Load(); n != 0 {
			t.Errorf("%d streams ended while their token was good", n)
		}
		set("bob " + bob)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := ended.Load(); n != mostViewers {
			t.Errorf("%d streams ended a second after their token was gone, want %d", n, mostViewers)
		}
	})
}
