package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a connection. The event stream of the page sets its own.
const (
	headerTimeout = 5 * time.Second  // for the TLS handshake, and for the header of a request
	readTimeout   = 10 * time.Second // for a whole request
	writeTimeout  = 30 * time.Second // from the end of the header to the end of the answer
	idleTimeout   = 2 * time.Minute  // between two requests
	maxHeader     = 16 << 10         // bytes of a header; net/http adds some slack
	maxStreams    = 250              // requests at once on a connection of HTTP/2

	graceTime        = 10 * time.Second       // for requests under way at the end, after lingerTime
	lingerTime       = 500 * time.Millisecond // see site.end
	adminConnections = 256                    // to the page, the metrics and the probes
)

// checkListen rejects an address that other hosts reach without tokens or without TLS, unless
// Insecure is set.
func (cfg *Config) checkListen(setting, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s %q, allowed: host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080, with a port up to 65535", setting, address)
	}
	if cfg.Insecure || !reachable(address) {
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
	return fmt.Errorf("%s %s can be reached from other hosts, and has %s; or set insecure if a proxy or firewall protects it",
		setting, address, strings.Join(lacks, ", and "))
}

// reachable reports whether other hosts can connect to an address.
func reachable(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback()
}

// connections returns the bounds of the two listeners. They leave an eighth of the open files of
// the process, at least 64, to the store and other files.
func (s *Service) connections() (api, admin int) {
	files := openFiles()
	admin = max(min(adminConnections, files/8), 1)
	api = max(min(s.cfg.MaxConnections, files-max(files/8, 64)-admin), 1)
	if api < s.cfg.MaxConnections {
		s.logger.Warn("max-connections is lowered: the process may not open enough files", "setting", s.cfg.MaxConnections, "used", api, "open_files", files)
	}
	return api, admin
}

// A site is a listener with its server. It bounds its open connections by itself, so that clients
// of one site cannot starve the other; more connections wait in the queue of the kernel. Unlike
// connections of netutil.LimitListener, they can be closed for writing alone, so that the client of
// a request that is too large reads the answer.
//
// At the end of the process a site closes connections together with an answer: closing an idle
// connection could lose a request.
type site struct {
	net.Listener
	places  chan struct{} // has an entry for each open connection, and for the next one
	logger  *slog.Logger
	warned  time.Time     // when Accept last found no place
	open    atomic.Int64  // connections
	closed  chan struct{} // closed by Close
	close   func() error  // once: http.Server.Shutdown closes it again
	handler http.Handler  // set before serve
	ending  atomic.Bool
	server  *http.Server
	scheme  string
}

// newSite opens the socket of a setting.
func (s *Service) newSite(ctx context.Context, setting, address string, connections int) (*site, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", setting, address, err)
	}
	n := &site{Listener: l, places: make(chan struct{}, connections), closed: make(chan struct{}), scheme: "http", logger: s.logger}
	n.close = sync.OnceValue(func() error {
		close(n.closed)
		return l.Close()
	})
	n.server = newHTTPServer(n, s.encrypted(), s.logger)
	if s.encrypted() {
		n.scheme = "https"
		n.server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.Load(), nil },
		}
	}
	return n, nil
}

// Accept waits for a place. Once a minute at most it logs that there is none.
func (n *site) Accept() (net.Conn, error) {
	if len(n.places) == cap(n.places) && time.Since(n.warned) >= time.Minute {
		n.warned = time.Now()
		n.logger.Warn("all connections are taken, others wait: end clients that keep idle connections, or raise max-connections, which bounds listen",
			"address", n.Addr().String(), "connections", cap(n.places))
	}
	select {
	case n.places <- struct{}{}:
	case <-n.closed:
		return nil, net.ErrClosed
	}
	accepted, err := n.Listener.Accept()
	if err != nil {
		<-n.places
		return nil, err
	}
	n.open.Add(1)
	c := &placed{TCPConn: accepted.(*net.TCPConn), free: sync.OnceFunc(func() { n.open.Add(-1); <-n.places })}
	time.AfterFunc(2*headerTimeout, func() {
		if !c.asked.Load() && n.crowded() {
			_ = c.Close() // idle in HTTP/2 without a request; net/http bounds the others
		}
	})
	return c, nil
}

// crowded reports whether few places are left.
func (n *site) crowded() bool { return n.open.Load() > int64(max(cap(n.places)*3/4, 1)) }

func (n *site) Close() error { return n.close() }

// A placed connection frees its place when it is closed.
type placed struct {
	*net.TCPConn
	free  func()      // once
	asked atomic.Bool // a request has reached ServeHTTP
}

type placedKey struct{} // of the connection in the context of a request

func withPlaced(ctx context.Context, c net.Conn) context.Context {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, placedKey{}, c)
}

func (c *placed) Close() error {
	defer c.free()
	return c.TCPConn.Close()
}

// ServeHTTP closes the connection with the answer at the end, and while few places are left: idle
// connections, which need no token, must not take them all.
func (n *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Context().Value(placedKey{}).(*placed).asked.Store(true)
	if n.ending.Load() || n.crowded() {
		w.Header().Set("Connection", "close") // net/http sends GOAWAY on HTTP/2
	}
	n.handler.ServeHTTP(w, r)
}

// serve serves connections. It returns nil once the server is shut down.
func (n *site) serve() (err error) {
	if n.scheme == "https" {
		err = n.server.ServeTLS(n, "", "")
	} else {
		err = n.server.Serve(n)
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("listen %s: %w", n.Addr(), err)
}

// end closes the listener, and waits until all connections are closed, at most for the time linger:
// each answer closes its connection now, but http.Server.Shutdown would drop requests that are on
// their way without an answer.
func (n *site) end(linger time.Duration) {
	_ = n.Close()
	for end := time.Now().Add(linger); len(n.places) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// url returns a URL of the site that a browser of this host can open.
func (n *site) url() string {
	unspecified := strings.NewReplacer("//[::]:", "//localhost:", "//0.0.0.0:", "//localhost:")
	return unspecified.Replace(n.scheme + "://" + n.Addr().String() + "/")
}

// newHTTPServer returns a server of HTTP/1.1 and HTTP/2, with TLS if encrypted is true.
func newHTTPServer(handler http.Handler, encrypted bool, logger *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(encrypted)
	protocols.SetUnencryptedHTTP2(!encrypted)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		ConnContext:       withPlaced,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: idleTimeout / 4, WriteByteTimeout: writeTimeout},
		ErrorLog:          log.New(&errorLog{logger}, "", 0),

		DisableGeneralOptionsHandler: true, // the handler refuses OPTIONS *, too
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
