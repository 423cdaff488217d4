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
