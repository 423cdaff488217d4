package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/conns"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// Bounds of a connection. The event stream of the page sets its own.
const (
	headerTimeout = 5 * time.Second  // for the TLS handshake, and for the header of a request
	readTimeout   = 10 * time.Second // for a whole request
	writeTimeout  = 30 * time.Second // from the end of the header to the end of the answer
	idleTimeout   = 2 * time.Minute  // between two requests
	maxHeader     = 16 << 10         // bytes of a header; net/http adds some slack
	maxStreams    = 250              // requests at once on a connection of HTTP/2
)

// checkListen rejects an address that other hosts reach without tokens or without TLS, unless
// Insecure is set.
func (cfg *Config) checkListen() error {
	if _, _, err := net.SplitHostPort(cfg.Listen); err != nil {
		return fmt.Errorf("listen %q, allowed: host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080", cfg.Listen)
	}
	if cfg.Insecure || !cfg.reachable() {
		return nil
	}
	var lacks []string
	if cfg.TokenFile == "" {
		lacks = append(lacks, "no tokens: set tokens")
	}
	if cfg.CertFile == "" {
		lacks = append(lacks, "no TLS: set tls-cert and tls-key")
	}
	if lacks == nil {
		return nil
	}
	return fmt.Errorf("listen %s can be reached from other hosts, and has %s; or set insecure if a proxy or firewall protects it",
		cfg.Listen, strings.Join(lacks, ", and "))
}

// reachable reports whether other hosts can connect to the address.
func (cfg *Config) reachable() bool {
	host, _, err := net.SplitHostPort(cfg.Listen)
	return err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback()
}

// perAddress returns the limit on the connections of an address. By default it is a quarter of all,
// or none behind a proxy, whose address all connections have.
func (cfg *Config) perAddress() int {
	if cfg.MaxPerAddress == 0 && !cfg.Insecure {
		return max(cfg.MaxConnections/4, 1)
	}
	return cfg.MaxPerAddress
}

// limitConnections lowers MaxConnections below the limit on open files of the process: without a
// free one the service could neither accept probes nor connect to its store.
func (s *Service) limitConnections() {
	files := openFiles()
	if most := max(files-max(files/8, 64), 1); most < s.cfg.MaxConnections {
		s.logger.Warn("max-connections is lowered: the process may not open enough files", "setting", s.cfg.MaxConnections, "used", most, "open_files", files)
		s.cfg.MaxConnections = most
	}
}

// listen opens the socket.
func (cfg *Config) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", cfg.Listen, err)
	}
	return l, nil
}

// newHTTPServer returns a server of HTTP/1.1 and HTTP/2, with TLS if encrypted is true, for the
// connections of a set.
func newHTTPServer(handler http.Handler, encrypted bool, set *conns.Set, logger *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(encrypted)
	protocols.SetUnencryptedHTTP2(!encrypted)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: idleTimeout / 4},
		ErrorLog:          log.New(&errorLog{logger}, "", 0),

		ConnState: set.Track,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if set.Surplus(conn) {
				return httpapi.Surplus(ctx)
			}
			return ctx
		},
		DisableGeneralOptionsHandler: true, // the handler answers OPTIONS *, too
	}
}

// errorLog logs the errors of net/http. Most are mistakes of clients, such as port scans instead
// of a TLS handshake, and appear at level DEBUG only.
type errorLog struct{ logger *slog.Logger }

func (e *errorLog) Write(p []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(p, []byte("http: Accept error")) { // such as too many open files
		level = slog.LevelWarn
	}
	e.logger.Log(context.Background(), level, string(bytes.TrimSpace(p)))
	return len(p), nil
}
