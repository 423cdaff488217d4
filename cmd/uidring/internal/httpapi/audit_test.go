package httpapi

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A client that still uses a removed token is known by its name.
func TestTokensAreCountedByName(t *testing.T) { // in a bubble: real time would admit requests above the rate
	synctest.Test(t, func(t *testing.T) {
		tokens := newTokens(t, "alice "+alice+"\nbob "+bob)
		s := newServer(t, Config{Settings: Settings{Rate: 100}, Tokens: func() Tokens { return tokens }})
		draw := func(authorization string, times int) {
			for range times {
				call(s, "/v1/ids?n=10", "Authorization", authorization)
			}
		}
		draw("Bearer "+alice, 15)
		draw("Bearer "+bob, 2)
		draw("Bearer nobody-nobody-nobody", 3)
		draw("", 4)
		tokens = newTokens(t, "alice "+alice)
		draw("Bearer "+bob, 5)
		tokens = newTokens(t, "carol carol-carol-carol")
		draw("Bearer "+bob, 1)
		tokens = newTokens(t, "alice "+alice+"\nbob "+bob)
		draw("Bearer "+bob, 1)
		wantMetrics(t, s,
			`uidring_token_requests_total{code="200",token="alice"} 10`,
			`uidring_token_requests_total{code="429",token="alice"} 5`,
			`uidring_token_ids_total{token="alice"} 100`,
			`uidring_token_requests_total{code="200",token="bob"} 3`,
			`uidring_token_requests_total{code="401",token="bob"} 6`,
			`uidring_token_ids_total{token="bob"} 30`,
			`uidring_token_requests_total{code="401",token="(unknown)"} 3`,
			`uidring_token_requests_total{code="401",token="(missing)"} 4`,
		)
	})
}

func TestRefusedTokensAreLoggedEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tokens := newTokens(t, "alice "+alice)
		s := newServer(t, Config{Settings: Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Tokens: func() Tokens { return tokens }})
		for range 61 {
			call(s, "/v1/id", "Authorization", "Bearer secret-of-mallory")
			call(s, "/v1/id")
			call(s, "/v1/id", "Authorization", "Bearer "+alice)
			time.Sleep(time.Second)
		}
		if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "refused=1 ") || !strings.Contains(text, "refused=60 last_token=(unknown) last_remote=192.0.2.1:1234 last_path=/v1/id") ||
			strings.Contains(text, "secret-of-mallory") {
			t.Errorf("the log of 61 refused tokens in a minute:\n%s", text)
		}
	})
}

func TestChangesOfTokensAreNamed(t *testing.T) {
	before := newTokens(t, "alice "+alice+"\nbob "+bob+"\ncarol carol-carol-carol")
	after := newTokens(t, "alice "+alice+"\nbob bob-has-another-one\ndave dave-dave-dave-dave")
	for _, tt := range []struct {
		earlier, now Tokens
		want         string
	}{
		{Tokens{}, before, "tokens: 3; added: alice, bob, carol"},
		{before, after, "tokens: 3; added: bob, dave; removed: bob, carol"},
		{before, before, "tokens: 3"},
	} {
		if got := tt.now.Changes(tt.earlier); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestAccessLog(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	for _, tt := range []struct {
		fraction float64
		least    int // records of 1000 requests
		most     int
	}{{0, 0, 0}, {0.5, 350, 650}, {1, 1000, 1000}} { // a sample of 1000 lies within 9 standard deviations
		var log bytes.Buffer
		s := newServer(t, Config{Settings: Settings{AccessLog: tt.fraction, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Tokens: func() Tokens { return tokens }})
		for range 1000 {
			call(s, "/v1/ids?n=3", "Authorization", "Bearer "+alice, "Accept", "application/octet-stream")
		}
		if n := strings.Count(log.String(), "msg=request"); n < tt.least || n > tt.most {
			t.Errorf("fraction %v: %d records of 1000 requests, want %d to %d", tt.fraction, n, tt.least, tt.most)
		}
		log.Reset()
		call(s, "/v1/id")
		if tt.fraction == 1 {
			for _, part := range []string{"method=GET path=/v1/id route=/v1/id status=401 bytes=", "remote=192.0.2.1:1234 token=(missing) protocol=HTTP/1.1"} {
				if !strings.Contains(log.String(), part) {
					t.Errorf("no %s in %s", part, &log)
				}
			}
		}
		if strings.Contains(log.String(), alice) {
			t.Error("a token is in the log")
		}
	}
}
