package respapi

import (
	"cmp"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/conns"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/testkit/recorder"
	"github.com/uidring/uidring/internal/testkit/testgen"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// patience bounds a test that waits in vain.
const patience = time.Minute

const token = "0123456789abcdef"

func newTokens(t testing.TB, file string) func() httpapi.Tokens {
	t.Helper()
	tokens, err := httpapi.ParseTokens([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return func() httpapi.Tokens { return tokens }
}

// newServer returns a server that is open, with the segment orders. The test fails if it logs.
func newServer(t testing.TB, limits conns.Config, cfg httpapi.Config) *Server {
	t.Helper()
	log := new(recorder.Recorder)
	limits.Max = cmp.Or(limits.Max, 100)
	limits.Logger = cmp.Or(limits.Logger, log.Logger())
	s := New(conns.New(limits), log.Logger())
	cfg.Generator = testgen.Cached(t, cached.Config{})
	source := fileassigner.SegmentSource(testserver.DiskFolder(t), fileassigner.SegmentConfig{})
	cfg.Segments = segments.New([]string{"orders"}, source, slog.New(slog.DiscardHandler))
	cfg.Collectors = s.Collectors()
	api, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Open(api)
	t.Cleanup(func() {
		cfg.Segments.Close()
		if records := log.Read(); len(records) > 0 {
			t.Errorf("log: %v", records)
		}
	})
	return s
}

// listen serves s on loopback, through l if that is not nil, and returns its address.
func listen(t testing.TB, s *Server, wrap func(net.Listener) net.Listener) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l = s.set.Limit(l)
	if wrap != nil {
		l = wrap(l)
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("Shutdown: %v", err)
		}
		_ = l.Close()
		if err := <-failed; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return address
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends bytes on a new connection, and returns all bytes of the server once either side
// has ended the connection.
func exchange(t testing.TB, address, sent string) string {
	t.Helper()
	conn := dial(t, address)
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !strings.Contains(err.Error(), "not connected") {
		t.Fatal(err)
	}
	received, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%q: %v, after %q", sent, err, received)
	}
	return string(received)
}
