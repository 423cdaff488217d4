package httpapi

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// allPaths are one path of every route.
var allPaths = []string{"/v1/id", "/v1/ids?n=2", "/v1/parse/1", "/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/assets/a", "/events", "/nowhere"}

func TestGuardKnowsTheNamesOfTheServer(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	none, with := Config{Settings: Settings{Listen: "ids.example:8080"}}, Config{Tokens: func() Tokens { return tokens }}
	local, all := Config{Settings: Settings{Listen: "127.0.0.1:8080"}}, Config{Settings: Settings{Listen: "0.0.0.0:8080"}}
	more, any, strict := none, none, with
	more.AllowedHosts, any.AllowedHosts, strict.AllowedHosts = []string{"IDs.Internal", "b"}, []string{"*"}, []string{"ids.internal"}
	for _, tt := range []struct {
		cfg     Config
		allowed []string
		refused []string
	}{
		{none, []string{"", "localhost", "LOCALHOST:80", "localhost.", "a.localhost:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "10.1.2.3:1", "[fe80::1%25eth0]:1", "ids.example", "IDS.example:9"},
			[]string{"evil.example", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example:8080", "ids.example.evil.example", "ids", "localhost:80:80", "x[::1]", ":80",
				"0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080", "[::ffff:10.1.2.3]"}},
		{local, []string{"127.0.0.1:8080", "127.0.0.2", "[::1]", "localhost"}, []string{"10.1.2.3", "0.0.0.0:8080", "0:8080", "[::ffff:127.0.0.1]"}},
		{all, []string{"127.0.0.1", "10.1.2.3"}, []string{"0.0.0.0:8080", "evil.example"}},
		{more, []string{"ids.internal:8080", "IDS.INTERNAL", "b.", "localhost"}, []string{"evil.example", "c"}},
		{any, []string{"evil.example", "c:80"}, nil},
		{with, []string{"evil.example"}, nil},
		{strict, []string{"ids.internal", "127.0.0.1"}, []string{"evil.example"}},
	} {
		s := newServer(t, tt.cfg)
		for _, host := range tt.allowed {
			if w := ask(s, "GET", host, "/v1/id", "Authorization", "Bearer "+alice); w.Code != http.StatusOK {
				t.Errorf("allowed %q, Host %q: %d, want 200", tt.cfg.AllowedHosts, host, w.Code)
			}
		}
		for _, host := range tt.refused {
			wantProblem(t, ask(s, "GET", host, "/v1/id", "Authorization", "Bearer "+alice), "unknown-host", "Host "+host)
		}
	}
}

// Each listener has the name that it listens on: one of them may be of this host alone.
func TestGuardOfEachListenerHasNamesOfItsOwn(t *testing.T) {
	s := newServer(t, Config{Settings: Settings{Listen: "127.0.0.1:8080", AdminListen: "ids.example:8081"}})
	for _, tt := range []struct {
		host, path string
		want       int
	}{
		{"10.1.2.3:8080", "/v1/ids?n=1", 403}, {"ids.example:8080", "/v1/ids?n=1", 403},
		{"10.1.2.3:8081", "/readyz", 200}, {"ids.example:8081", "/readyz", 200},
	} {
		if w := ask(s, "GET", tt.host, tt.path); w.Code != tt.want {
			t.Errorf("Host %s, %s: %d, want %d", tt.host, tt.path, w.Code, tt.want)
		}
	}
}

func TestGuardRefusesPagesOfOtherSitesEverywhere(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	for name, cfg := range map[string]Config{"without tokens": {}, "with tokens": {Tokens: func() Tokens { return tokens }}} {
		s := newServer(t, cfg)
		for _, path := range allPaths {
			for _, tt := range []struct {
				refused bool
				headers []string
			}{
				{true, []string{"Sec-Fetch-Site", "cross-site"}},
				{true, []string{"Sec-Fetch-Site", "same-site"}}, // another port of the host, such as a development server
				{true, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}},
				{true, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}},
				{true, []string{"Origin", "http://evil.example"}},
				{true, []string{"Origin", "null"}},
				{false, []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://behind.a.proxy"}},
				{false, []string{"Sec-Fetch-Site", "none"}}, // an address that the user has typed
				{false, []string{"Origin", "http://example.com:8080"}},
				{path != "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}}, // a link
			} {
				w := ask(s, "GET", "example.com:8080", path, append(tt.headers, "Authorization", "Bearer "+alice)...)
				given := name + " " + path + " " + strings.Join(tt.headers, " ")
				if tt.refused {
					wantProblem(t, w, "cross-site", given)
				} else if w.Code == http.StatusForbidden {
					t.Errorf("%s: 403", given)
				}
			}
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	s := newServer(t, Config{Tokens: func() Tokens { return tokens }})
	servePage(s, func(http.ResponseWriter, *http.Request) { panic("the page") })
	for _, path := range allPaths {
		for _, tt := range []struct {
			method, host string
			tls          *tls.ConnectionState
			strict       string
		}{
			{"GET", "example.com", nil, ""}, {"BREW", "example.com", nil, ""},
			{"OPTIONS", "localhost:8443", new(tls.ConnectionState), ""}, {"GET", "example.com", new(tls.ConnectionState), "max-age=31536000"},
		} {
			r := httptest.NewRequest(tt.method, path, nil)
			r.Host, r.TLS = tt.host, tt.tls
			r.Header.Set("Authorization", "Bearer "+alice)
			w := httptest.NewRecorder()
			both(s).ServeHTTP(w, r)
			nosniff, origin := "nosniff", "same-origin"
			if w.Code == http.StatusOK && strings.HasPrefix(path, "/v1/id") { // digits, for any request
				nosniff, origin = "", ""
			}
			for name, want := range map[string]string{"X-Content-Type-Options": nosniff, "Cross-Origin-Resource-Policy": origin,
				"Cache-Control": "no-store", "Strict-Transport-Security": tt.strict} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s %s of %s: %s %q, want %q", tt.method, path, tt.host, name, got, want)
				}
			}
		}
	}
}
