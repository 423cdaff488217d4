package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	alice = "alice-alice-alice"
	bob   = "bob-bob-bob-bob-bob"
)

// call answers a request without a network, as a bubble of synctest wants it.
func call(s *Server, url string, headers ...string) *httptest.ResponseRecorder {
	return ask(s, "GET", "example.com", url, headers...)
}

func TestTokensAreRequiredWhereTheyMatter(t *testing.T) {
	tokens := newTokens(t, "alice "+alice+"\nbob "+bob)
	s := newServer(t, Config{Tokens: func() Tokens { return tokens }, Page: newPage()})
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/", "/assets/main.js"} {
		if w := call(s, path); w.Code != 200 {
			t.Errorf("%s without a token: %d, want 200", path, w.Code)
		}
	}
	const missing, wrong = `Bearer realm="uidring"`, `Bearer realm="uidring", error="invalid_token"`
	for _, path := range []string{"/v1/id", "/v1/ids?n=2", "/v1/parse/176636547297255431", "/metrics", "/events"} {
		for _, c := range []struct {
			authorization string
			status        int
			challenge     string
		}{
			{"Bearer " + alice, 200, ""},
			{"bearer  " + bob, 200, ""},
			{"", 401, missing},
			{alice, 401, wrong},
			{"Bearer", 401, wrong},
			{"Bearer ", 401, wrong},
			{"Basic " + alice, 401, wrong},
			{"Bearer " + alice + "x", 401, wrong},
			{"Bearer " + alice[1:], 401, wrong},
			{"Bearer " + bob + ",", 401, wrong},
		} {
			var headers []string
			if c.authorization != "" {
				headers = []string{"Authorization", c.authorization}
			}
			w := call(s, path, headers...)
			if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge {
				t.Errorf("%s with %q: %d, WWW-Authenticate %q; want %d, %q", path, c.authorization,
					w.Code, w.Header().Get("WWW-Authenticate"), c.status, c.challenge)
			}
		}
	}
}

func TestRateCountsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Settings: Settings{Rate: 100, Burst: 1000}})
		step := func(url string, status int, retry string) {
			t.Helper()
			if w := call(s, url); w.Code != status || w.Header().Get("Retry-After") != retry {
				t.Errorf("%s: %d, Retry-After %q; want %d, %q: %s", url, w.Code, w.Header().Get("Retry-After"), status, retry, w.Body)
			}
		}
		step("/v1/ids?n=990", 200, "") // 10 left of the burst
		step("/v1/ids?n=11", 429, "1")
		step("/v1/ids?n=8", 200, "")
		step("/v1/id", 200, "")
		step("/v1/parse/176636547297255431", 200, "")
		step("/v1/id", 429, "1")
		step("/v1/parse/176636547297255431", 429, "1")
		step("/v1/ids?n=1000", 429, "10")
		step("/v1/ids?n=101", 429, "2")
		step("/healthz", 200, "")
		time.Sleep(10 * time.Millisecond) // of the bubble: one ID more
		step("/v1/ids?n=2", 429, "1")
		step("/v1/id", 200, "")
		step("/v1/id", 429, "1")
		time.Sleep(time.Hour) // no more than the burst
		step("/v1/ids?n=1000", 200, "")
		if w := call(s, "/v1/ids?n=233"); !strings.Contains(w.Body.String(), `"233 may be drawn after 2.33s; allowed are 100 a second."`) {
			t.Errorf("%s; want when the IDs may be drawn", w.Body)
		}
	})
}

func TestRateIsPerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const successor = "alice-is-someone-else"
		tokens := newTokens(t, "alice "+alice+"\nalice "+successor+"\nbob "+bob)
		s := newServer(t, Config{Settings: Settings{Rate: 1, Burst: 10}, Tokens: func() Tokens { return tokens }})
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
		draw(bob, 401)
	})
}
