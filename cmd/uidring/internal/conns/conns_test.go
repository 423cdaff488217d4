package conns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// A site is an HTTP server with a Set. Its path /hold answers once release is closed; the others
// answer whether the connection is surplus.
type site struct {
	*Set
	address string
	log     recorder.Recorder
	release chan struct{}
	held    sync.WaitGroup // requests for /hold that have arrived
}

// newSite serves until the test ends. remote, if it is not nil, returns the address of the n-th
// client.
func newSite(t *testing.T, cfg Config, remote func(n int) net.Addr) *site {
	t.Helper()
	s := &site{release: make(chan struct{})}
	cfg.Logger = s.log.Logger()
	s.Set = New(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	if remote != nil {
		l = &fromElsewhere{Listener: l, remote: remote}
	}
	var surplus sync.Map // by the remote address
	server := &http.Server{
		ConnState: func(conn net.Conn, state http.ConnState) {
			if s.Surplus(conn) {
				surplus.Store(conn.RemoteAddr().String(), true)
			}
			s.Track(conn, state)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hold" {
				s.held.Done()
				<-s.release
			}
			_, is := surplus.Load(r.RemoteAddr)
			fmt.Fprint(w, is)
		}),
		ReadHeaderTimeout: time.Hour,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan error)
	go func() { ended <- server.Serve(s.Limit(l)) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// fromElsewhere gives clients of loopback other addresses.
type fromElsewhere struct {
	net.Listener
	remote func(n int) net.Addr
	n      int
}

type elsewhere struct {
	net.Conn
	remote net.Addr
}

func (c elsewhere) RemoteAddr() net.Addr { return c.remote }

func (l *fromElsewhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.n++
	return elsewhere{c, l.remote(l.n - 1)}, nil
}

// A client is a connection to a site.
type client struct {
	net.Conn
	in *bufio.Reader
}

func (s *site) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(poll.Patience)); err != nil {
		t.Fatal(err)
	}
	return &client{conn, bufio.NewReader(conn)}
}

func (c *client) send(path string) { fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path) }

// read returns the body of an answer.
func (c *client) read() (string, error) {
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// ask wants an answer on a connection.
func (c *client) ask(t *testing.T, want string) {
	t.Helper()
	c.send("/")
	if body, err := c.read(); err != nil || body != want {
		t.Fatalf("answer %q, %v, want %q", body, err, want)
	}
}

// isClosed reports whether the server has closed the connection; a client waits for that.
func (c *client) isClosed() bool {
	_, err := c.in.ReadByte()
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// hold opens connections whose requests are under way until release is closed.
func (s *site) hold(t *testing.T, n int) (all []*client) {
	t.Helper()
	for range n {
		s.held.Add(1)
		c := s.dial(t)
		c.send("/hold")
		s.held.Wait() // or else a later connection may close it as idle
		all = append(all, c)
	}
	return all
}

// wantIdle waits until the server has noticed that so many connections are idle.
func (s *site) wantIdle(t *testing.T, want int) {
	t.Helper()
	poll.Until(t, fmt.Sprint(want, " idle connections"), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.idle.Len() == want
	})
}

func (s *site) wantMetrics(t *testing.T, active, idle, limit, byLimit, byAddress int) {
	t.Helper()
	want := fmt.Sprintf(`# HELP uidring_connections Open connections, by state: active has a request under way, idle has none.
# TYPE uidring_connections gauge
uidring_connections{state="active"} %d
uidring_connections{state="idle"} %d
# HELP uidring_connections_closed_total Connections that were closed because there were too many, by reason: in total (limit), or from one address (address).
# TYPE uidring_connections_closed_total counter
uidring_connections_closed_total{reason="address"} %d
uidring_connections_closed_total{reason="limit"} %d
# HELP uidring_connections_limit Largest number of connections.
# TYPE uidring_connections_limit gauge
uidring_connections_limit %d
`, active, idle, byAddress, byLimit, limit)
	poll.Succeeds(t, "the metrics", func() error { return testutil.CollectAndCompare(s.Set, strings.NewReader(want)) })
}

// More clients than there are places keep their connections without a request. The longest idle
// ones make room, one for each newcomer, and no newcomer waits.
func TestLongestIdleConnectionsMakeRoom(t *testing.T) {
	const most, clients = 128, 200
	const kept = most - most/8
	s := newSite(t, Config{Max: most}, nil)
	var all []*client
	for i := range clients {
		c := s.dial(t)
		c.ask(t, "false")
		all = append(all, c)
		s.wantIdle(t, min(i+1, kept))
	}
	for _, c := range all[:clients-kept] {
		if !c.isClosed() {
			t.Fatal("a connection that was idle for longer than others is open")
		}
	}
	for _, c := range all[clients-kept:] {
		c.ask(t, "false")
	}
	if n := strings.Count(fmt.Sprint(s.log.Read()), "connections are at their limit"); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	s.wantMetrics(t, 0, kept, most, clients-kept, 0)
}

// If all connections have requests under way, the reserved places are left, and then newcomers
// wait.
func TestReservedPlaces(t *testing.T) {
	const most = 1024
	s := newSite(t, Config{Max: most, FirstRequest: time.Hour}, nil)
	held := s.hold(t, most-mostReserved)
	for range 3 * mostReserved { // one after the other: each makes room for the next
		s.dial(t).ask(t, "true")
		s.wantIdle(t, 1)
	}
	surplus := s.hold(t, mostReserved)
	waiting := s.dial(t)
	waiting.send("/")
	s.wantMetrics(t, most, 0, most, 2*mostReserved+mostReserved, 0)
	close(s.release)
	if body, err := waiting.read(); err != nil {
		t.Fatalf("once there is room: %q, %v", body, err)
	}
	for _, c := range append(held, surplus...) {
		if _, err := c.read(); err != nil && !c.isClosed() {
			t.Errorf("a request under way: %v", err)
		}
	}
	if n := strings.Count(fmt.Sprint(s.log.Read()), "connections are at their limit"); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

// Newcomers without a request give way to later ones only if all places are taken.
func TestNewcomersGiveWayLast(t *testing.T) {
	const most = 16 // 2 of them reserved
	s := newSite(t, Config{Max: most, FirstRequest: time.Hour}, nil)
	s.hold(t, most-2)
	silent := s.dial(t)
	s.wantIdle(t, 1)
	probe := s.dial(t)
	probe.ask(t, "true")
	s.wantIdle(t, 2)
	next := s.dial(t)
	next.ask(t, "true")
	if !silent.isClosed() {
		t.Error("a connection without a request keeps its place")
	}
	close(s.release)
}

func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	for _, tt := range []struct {
		name   string
		remote func(n int) net.Addr
		limit  int // 0: none
	}{
		{"one address", func(n int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: n} }, 10},
		{"a network of IPv6", func(n int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8::%x", n)), Port: n} }, 10},
		{"IPv4 as IPv6", func(n int) net.Addr { return &net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1"), Port: n} }, 10},
		{"several addresses", func(n int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(n)), Port: n} }, 0},
		{"several networks", func(n int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8:0:%x::", n)), Port: n} }, 0},
		{"loopback", func(n int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n} }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const clients = 30
			s := newSite(t, Config{Max: 1000, PerAddress: 10}, tt.remote)
			for i := range clients {
				s.dial(t).ask(t, "false")
				want := i + 1
				if tt.limit > 0 {
					want = min(want, tt.limit)
				}
				s.wantIdle(t, want)
			}
			closed, records := 0, 0
			if tt.limit > 0 {
				closed, records = clients-tt.limit, 1
			}
			s.wantMetrics(t, 0, clients-closed, 1000, 0, closed)
			if n := strings.Count(fmt.Sprint(s.log.Read()), "connections of one address are at their limit"); n != records {
				t.Errorf("%d records, want %d", n, records)
			}
		})
	}
}

// A client whose header is too large reads that answer, although it has sent more than the server
// reads.
func TestAnswersArriveBeforeTheEnd(t *testing.T) {
	s := newSite(t, Config{Max: 10}, nil)
	c := s.dial(t)
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n", strings.Repeat("x", http.DefaultMaxHeaderBytes+100<<10)); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("answer %s, %v", answer.Status, err)
	}
}

// An address whose connections all have requests under way gets no further one.
func TestBusyAddressIsRefused(t *testing.T) {
	s := newSite(t, Config{Max: 1000, PerAddress: 10}, func(n int) net.Addr {
		return &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(n/11)), Port: n}
	})
	s.hold(t, 10)
	if !s.dial(t).isClosed() {
		t.Error("the eleventh connection is open")
	}
	s.dial(t).ask(t, "false") // of another address
	s.wantMetrics(t, 10, 1, 1000, 0, 1)
	close(s.release)
}

// http.Server.Shutdown closes the listener again, and returns the error of that.
func TestListenerMayBeClosedTwice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = New(Config{Max: 1, Logger: slog.New(slog.DiscardHandler)}).Limit(l)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The end waits for the first request of young connections alone.
func TestEndNew(t *testing.T) {
	s := newSite(t, Config{Max: 100, FirstRequest: time.Nanosecond}, nil)
	used := s.dial(t)
	used.ask(t, "false")
	silent := s.dial(t)
	s.wantIdle(t, 2)
	s.EndNew(t.Context())
	if !silent.isClosed() {
		t.Error("a connection without a request is open")
	}
	used.ask(t, "false")

	s = newSite(t, Config{Max: 100, FirstRequest: time.Hour}, nil)
	young := s.dial(t)
	s.wantIdle(t, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.EndNew(t.Context())
	}()
	young.ask(t, "false")
	select {
	case <-ended:
	case <-time.After(poll.Patience):
		t.Error("the end waits for a connection that has sent a request")
	}
}
