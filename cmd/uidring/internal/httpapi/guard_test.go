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

func newPage() map[string]http.Handler {
	return pageOf(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// ask answers a request for a host.
func ask(s *Server, method, host, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	both(s).ServeHTTP(w, r)
	return w
}

func wantRefusal(t *testing.T, w *httptest.ResponseRecorder, name, given string) {
	t.Helper()
	if w.Code != http.StatusForbidden {
		t.Errorf("%s: %d, want 403: %s", given, w.Code, w.Body)
		return
	}
	wantProblem(t, w.Result(), w.Body.String(), name)
}

// TestGuardRefusesOtherNamesEverywhere has the requests of a page whose name was rebound to the
// address of the server.
func TestGuardRefusesOtherNamesEverywhere(t *testing.T) {
	s := newServer(t, Config{Page: newPage()})
	before := last(t, s)
	for _, path := range allPaths {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
			w := ask(s, method, "evil.example:8080", path)
			if method == "HEAD" {
				w.Body.Reset()
				if w.Code != http.StatusForbidden {
					t.Errorf("HEAD %s: %d, want 403", path, w.Code)
				}
				continue
			}
			wantRefusal(t, w, "unknown-host", method+" "+path)
		}
	}
	if after := last(t, s); after != before+1 {
		t.Errorf("%d IDs were drawn, want 0", after-before-1)
	}
}

// TestGuardRefusesImagesOfIDs has the requests for pictures of a page to which a browser adds
// neither Origin nor Sec-Fetch-Site. The picture of the page of the service is no ID.
func TestGuardRefusesImagesOfIDs(t *testing.T) {
	s := newServer(t, Config{Settings: Settings{Listen: "127.0.0.1:8080"}, Page: newPage()})
	for _, path := range []string{"/v1/id", "/v1/ids?n=2", "/v1/parse/1"} {
		wantRefusal(t, ask(s, "GET", "127.0.0.1:8080", path, "Accept", "image/avif,image/webp,*/*"), "cross-site", path)
	}
	for _, path := range []string{"/assets/a", "/"} {
		if w := ask(s, "GET", "127.0.0.1:8080", path, "Accept", "image/avif,image/webp,*/*"); w.Code != http.StatusOK {
			t.Errorf("%s: %d, want 200", path, w.Code)
		}
	}
}

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
			wantRefusal(t, ask(s, "GET", host, "/v1/id", "Authorization", "Bearer "+alice), "unknown-host", "Host "+host)
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
		{"127.0.0.1:8080", "/v1/ids?n=1", 200}, {"10.1.2.3:8080", "/v1/ids?n=1", 403}, {"ids.example:8080", "/v1/ids?n=1", 403},
		{"127.0.0.1:8081", "/readyz", 200}, {"10.1.2.3:8081", "/readyz", 200}, {"ids.example:8081", "/readyz", 200}, {"evil.example", "/readyz", 403},
	} {
		if w := ask(s, "GET", tt.host, tt.path); w.Code != tt.want {
			t.Errorf("Host %s, %s: %d, want %d", tt.host, tt.path, w.Code, tt.want)
		}
	}
}

func TestGuardRefusesPagesOfOtherSitesEverywhere(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	for name, cfg := range map[string]Config{"without tokens": {Page: newPage()}, "with tokens": {Page: newPage(), Tokens: func() Tokens { return tokens }}} {
		s := newServer(t, cfg)
		get := func(path string, headers ...string) *httptest.ResponseRecorder {
			return ask(s, "GET", "example.com:8080", path, append(headers, "Authorization", "Bearer "+alice)...)
		}
		for _, path := range allPaths {
			for _, headers := range [][]string{
				{"Sec-Fetch-Site", "cross-site"},
				{"Sec-Fetch-Site", "same-site"}, // another port of the host, such as a development server
				{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
				{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
				{"Origin", "http://evil.example"},
				{"Origin", "http://example.com:8081"},
				{"Origin", "null"},
			} {
				wantRefusal(t, get(path, headers...), "cross-site", name+" "+path+" "+strings.Join(headers, " "))
			}
			for _, headers := range [][]string{
				{"Sec-Fetch-Site", "same-origin"},
				{"Sec-Fetch-Site", "same-origin", "Origin", "https://behind.a.proxy"},
				{"Sec-Fetch-Site", "none"}, // an address that the user has typed
				{"Origin", "http://example.com:8080"},
			} {
				if w := get(path, headers...); w.Code == http.StatusForbidden {
					t.Errorf("%s: %s with %q: 403", name, path, headers)
				}
			}
			link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
			if w := get(path, link...); (w.Code == http.StatusForbidden) != (path != "/") {
				t.Errorf("%s: a link of another site to %s: %d, want 200 for the page alone", name, path, w.Code)
			}
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the page") })
	s := newServer(t, Config{Page: pageOf(page), Tokens: func() Tokens { return tokens }})
	for _, encrypted := range []bool{false, true} {
		for _, host := range []string{"example.com", "localhost:8443"} {
			for _, path := range allPaths {
				for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "BREW"} {
					r := httptest.NewRequest(method, path, nil)
					r.Host, r.TLS = host, nil
					want := map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"}
					if encrypted {
						r.TLS = new(tls.ConnectionState)
						if host == "example.com" {
							want["Strict-Transport-Security"] = "max-age=31536000"
						}
					}
					w := httptest.NewRecorder()
					both(s).ServeHTTP(w, r)
					for _, name := range []string{"X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Cache-Control", "Strict-Transport-Security"} {
						if got := w.Header().Get(name); got != want[name] {
							t.Errorf("%s %s of %s, TLS %v: %s %q, want %q", method, path, host, encrypted, name, got, want[name])
						}
					}
				}
			}
		}
	}
}
