package daemon

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestListenForOtherHostsNeedsTokensAndTLS(t *testing.T) {
	const token, plain, both = "has no tokens", "no TLS", "has no tokens.*no TLS"
	for _, tt := range []struct {
		listen                string
		tokens, tls, insecure bool
		want                  string // a pattern; "": allowed
	}{
		{listen: "127.0.0.1:8080"},
		{listen: "127.9.9.9:0"},
		{listen: "[::1]:8080"},
		{listen: "localhost:8080"},
		{listen: ":8080", want: both},
		{listen: "0.0.0.0:8080", want: both},
		{listen: "[::]:8080", want: both},
		{listen: "10.0.0.1:8080", tokens: true, want: plain},
		{listen: "localhost.example.com:8080", tls: true, want: token},
		{listen: ":8080", tokens: true, tls: true},
		{listen: ":8080", insecure: true},
		{listen: "8080", insecure: true, want: `listen "8080", allowed: host:port`},
		{listen: "", want: `listen "", allowed: host:port`},
	} {
		cfg := Config{Insecure: tt.insecure}
		if tt.tokens {
			cfg.TokenFile = "tokens"
		}
		if tt.tls {
			cfg.CertFile = "cert.pem"
		}
		err := cfg.checkListen("listen", tt.listen)
		if (err == nil) != (tt.want == "") || err != nil && !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// A page whose name was rebound to 127.0.0.1, or that embeds a picture from there, gets no ID.
func TestListenersGivePagesOfOtherSitesNothing(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.AllowedHosts = []string{"ids.internal"}
	r := ready(t, cfg, log)
	client := clients(t, nil)["HTTP/1.1"]
	for _, tt := range []struct {
		host, name, value string
		want              int
	}{
		{"ids.internal", "", "", http.StatusOK},
		{"evil.example", "", "", http.StatusForbidden},
		{r.address, "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
	} {
		for _, path := range []string{"/v1/ids?n=1000", "/metrics", "/healthz"} {
			request, err := http.NewRequest(http.MethodGet, "http://"+r.at(path)+path, nil)
			must(t, err)
			request.Host = tt.host
			request.Header.Set(cmp.Or(tt.name, "X-None"), tt.value)
			answer, err := client.Do(request)
			must(t, err)
			_ = answer.Body.Close()
			if answer.StatusCode != tt.want {
				t.Errorf("%+v: %s: %s", tt, path, answer.Status)
			}
		}
	}
}

// A header has at most 16 KiB; net/http adds 4 KiB of its own.
func TestListenersBoundHeaders(t *testing.T) {
	cfg, log := testConfig(t)
	address := ready(t, cfg, log).admin
	for _, tt := range []struct{ size, want int }{{8 << 10, http.StatusOK}, {1 << 20, http.StatusRequestHeaderFieldsTooLarge}} {
		conn := dial(t, address)
		go func() { // the server answers before it has read all
			_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("a", tt.size))
		}()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		if answer.StatusCode != tt.want {
			t.Errorf("header of %d bytes: status %d, want %d", tt.size, answer.StatusCode, tt.want)
		}
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// clients are one for HTTP/1.1 and one for HTTP/2.
func clients(t *testing.T, trust *tls.Config) map[string]*http.Client {
	t.Helper()
	all := make(map[string]*http.Client)
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(version == "HTTP/1.1")
		protocols.SetHTTP2(version == "HTTP/2.0")
		protocols.SetUnencryptedHTTP2(version == "HTTP/2.0")
		transport := &http.Transport{
			Protocols:           protocols,
			TLSClientConfig:     trust.Clone(),
			MaxIdleConnsPerHost: 100,
			HTTP2:               &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}, // bytes that a server can send to a client that does not read
		}
		t.Cleanup(transport.CloseIdleConnections)
		all[version] = &http.Client{Transport: transport, Timeout: patience}
	}
	return all
}

// Mistakes of clients would fill the log, but errors that concern the operator must be in it.
func TestErrorLogTellsMistakesOfClientsApart(t *testing.T) {
	for text, want := range map[string]string{
		"http: TLS handshake error from 10.0.0.1:1: EOF\n":                       "",
		"http: Accept error: accept tcp: too many open files; retrying in 5ms\n": "level=WARN",
	} {
		var log bytes.Buffer
		s := newHTTPServer(http.NotFoundHandler(), false, slog.New(slog.NewTextHandler(&log, nil)))
		s.ErrorLog.Print(text)
		if (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) {
			t.Errorf("%q is logged as %q, want %q", text, &log, want)
		}
	}
}
