package client

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/check"
	"github.com/uidring/uidring/internal/httpcall"
)

// A Config configures a Client.
type Config struct {
	// Servers are the URLs of the servers, such as "https://ids-1.example.com"; required. A path
	// is a prefix. All servers have one namespace, or different datacenters.
	Servers []string
	// Token is sent to every server; "": none. A Transport may add the header itself, for tokens
	// that change while the program runs.
	Token string
	// Segment is the name of a segment to take IDs from; "": the generator of the servers.
	Segment string
	// Batch is the number of IDs of a request, 1 to 100,000; zero: 1,000. A server may have a lower
	// limit. Take about as many as the process uses in a second.
	Batch int
	// RequestTimeout bounds each request; zero: 2 s.
	RequestTimeout time.Duration
	// MaxAge is how long an ID may wait for its use, from the sending of the request for it. Older
	// ones are dropped. A server sets a bound, by default 1 min, that holds if it is shorter. Zero:
	// 1 min. An answer that a proxy repeats looks as if it were new.
	MaxAge time.Duration
	// Transport sends the requests; nil: a transport of its own for HTTP/1.1, with the proxy of the
	// environment and the certificate authorities of the system.
	Transport http.RoundTripper
	// Logger gets a record at WARN when a server begins to fail, and one at INFO when it answers
	// again; nil: slog.Default(). slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Validate checks a Config as [New] does. It reports all mistakes together, each as a
// uidring.FieldError; a method Unwrap() []error returns them.
func (cfg Config) Validate() error {
	_, err := cfg.resolve()
	return err
}

// resolve returns cfg with its defaults, or all its mistakes.
func (cfg Config) resolve() (Config, error) {
	var c check.Checker
	c.Check(len(cfg.Servers) > 0, "Servers", "is empty", "one URL or more")
	for i, server := range cfg.Servers { // a URL may have a password, and is not printed
		c.Check(httpcall.CheckURL(server) == nil, fmt.Sprintf("Servers[%d]", i), "is not a valid URL", "http:// or https://, a host, and optionally a port and a path")
		c.Check(!slices.ContainsFunc(cfg.Servers[:i], func(s string) bool { return base(s) == base(server) }), fmt.Sprintf("Servers[%d]", i), "is a URL before it again", "each URL once")
	}
	c.Check(!strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }), "Token", "has white space or characters beyond ASCII", "a token of the servers")
	c.Check(cfg.Segment == "" || segmentName.MatchString(cfg.Segment) && strings.Trim(cfg.Segment, ".") != "", "Segment", fmt.Sprintf("%.64q", cfg.Segment), "1 to 64 letters, digits, dots, underscores and hyphens, and not dots alone")
	c.Check(cfg.Batch >= 0 && cfg.Batch <= largestBatch, "Batch", cfg.Batch, "0 (1,000) to %d", largestBatch)
	c.Check(cfg.RequestTimeout >= 0, "RequestTimeout", cfg.RequestTimeout, "0 (2s) or more")
	c.Check(cfg.MaxAge >= 0, "MaxAge", cfg.MaxAge, "0 (1m) or more")
	cfg.Batch = cmp.Or(cfg.Batch, 1000)
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 2*time.Second)
	cfg.MaxAge = cmp.Or(cfg.MaxAge, time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	return cfg, c.Err()
}

// base returns a URL without the slashes at its end.
func base(server string) string { return strings.TrimRight(server, "/") }

const largestBatch = 100_000

var segmentName = regexp.MustCompile(`^[0-9A-Za-z._-]{1,64}$`)
