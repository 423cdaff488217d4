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

// Without a burst of its own, a rate admits the IDs of a second.
func TestBatchOfARate(t *testing.T) {
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
