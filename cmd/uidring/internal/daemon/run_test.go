package daemon

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The first steps of a new user: start serve without settings, draw IDs, scrape the metrics, open
// the page, kill the process, start it again. The first start alone logs that the store is new.
func TestServeAlone(t *testing.T) {
	home, all := testserver.DiskFolder(t), new(idset.Set)
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	start := func(fresh bool) *child {
		c := serve(t)
		stop := drawFrom(t, all, 3, c.url())
		more(t, all, 20_000)
		stop()
		if n := strings.Count(c.log.String(), `"level":"WARN"`); (c.log.find("assigner: the namespace is new in this store") != nil) != fresh || (n == 1) != fresh || n > 1 {
			t.Errorf("%d warnings, want one, of a new store: %v\n%s", n, fresh, c.log)
		}
		if ready := c.log.find("ready"); ready["store_this_host_only"] != true || ready["store_id"] == "" || ready["namespace"] != "default" || ready["page"] != c.adminURL()+"/" {
			t.Errorf("logged %v", ready)
		}
		return c
	}
	first := start(true)
	data := filepath.Join(home, ".local", "share", "uidring")
	for _, path := range []string{data, filepath.Join(data, "uidring.db")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v, want no rights for others", path, info, err)
		}
	}
	for path, want := range map[string]string{
		"/metrics": `\nuidring_store_info\{datacenter="0",id="[A-Z2-7]{26}",local="true",namespace="default",store="sqlite://[^"]*"\} 1\n`,
		"/":        "<html", "/readyz": "ready", "/healthz": "ok", "/openapi.json": "openapi",
	} {
		if status, body, err := get(http.DefaultClient, first.adminURL()+path); status != http.StatusOK || !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("%s: status %d, %v, want %q in\n%s", path, status, err, want, body)
		}
	}
	if lasts := first.metric("uidring_window_lasts_seconds"); lasts < 80 { // without its store
		t.Errorf("the window lasts %.0f s, want about 120", lasts)
	}
	dial(t, first.address)
	testkit.Until(t, "an open connection", func() bool { return first.metric("uidring_http_connections") > 0 })
	first.Kill()
	second := start(false)
	testkit.Must(t, second.Cmd.Process.Signal(syscall.SIGHUP)) // as systemctl reload does
	testkit.Until(t, "a reload", func() bool { return second.log.find("SIGHUP: no certificate and no tokens are set") != nil })
	second.terminate()
	third := start(false)
	if second.worker() == first.worker() || third.worker() != second.worker() {
		t.Errorf("workers %d, %d after a kill, and then %d; want another one, and the same again", first.worker(), second.worker(), third.worker())
	}
	third.terminate()
}

// The second signal ends the process at once, even during a long drain. A signal right after the
// first counts as the same signal. systemd is told of start and end.
func TestServeEndsAtOnceOnTheSecondSignal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testkit.Must(t, err)
	defer socket.Close()
	testkit.Must(t, socket.SetDeadline(time.Now().Add(testkit.Patience)))
	told := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		if n, err := socket.Read(message); err != nil || string(message[:n]) != want {
			t.Errorf("told %q, %v, want %q", message[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", path)
	c := serve(t, "--data="+testserver.DiskFolder(t), "--drain=1h")
	told("READY=1")
	began := time.Now()
	testkit.Must(t, c.Cmd.Process.Signal(syscall.SIGTERM))
	told("STOPPING=1")
	testkit.Until(t, "an end", func() bool {
		_ = c.Cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		return c.hasEnded()
	})
	if took := time.Since(began); took < 500*time.Millisecond || c.Cmd.ProcessState.Success() {
		t.Errorf("ended after %v: %v", took, c.Cmd.ProcessState)
	}
}

// Run drains, during which /readyz answers 503 and other requests are answered. Then it ends event
// streams, closes the listener of the API, answers requests on open connections and closes these,
// and waits for a client that reads slowly.
func TestRunEndsInOrder(t *testing.T) {
	takesTime(t)
	t.Parallel()
	cfg, log := testConfig(t)
	cfg.Drain, cfg.linger = 2*time.Second, testkit.Patience
	r := ready(t, cfg, log)
	const n = 100_000
	client, reader := newClient(t, "HTTP/1.1", nil), newClient(t, "HTTP/2.0", nil)
	slow := draw(t, reader, r, n)
	events := dial(t, r.admin)
	fmt.Fprint(events, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	stream, err := http.ReadResponse(bufio.NewReader(events), nil)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("event stream: %v", err)
	}
	r.stop()
	testkit.Until(t, "a service that is not ready", func() bool {
		status, _, err := get(client, r.adminURL()+"/readyz")
		testkit.Must(t, err)
		return status == http.StatusServiceUnavailable
	})
	var conns []net.Conn
	for range 20 {
		conns = append(conns, dial(t, r.address))
	}
	if status, body, err := get(client, r.url()+"/v1/id"); status != http.StatusOK { // after the 20 in the queue
		t.Errorf("during the drain: %d %s %v", status, body, err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // which ends before the listeners are closed
		t.Errorf("the event stream did not end in order: %v", err)
	}
	testkit.Until(t, "a listener that is closed", func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	for i, conn := range conns {
		fmt.Fprint(conn, "GET /v1/id HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != http.StatusOK || !answer.Close {
			t.Errorf("connection %d: %v, %+v; want status 200, which closes it", i, err, answer)
		}
	}
	body, err := io.ReadAll(slow)
	reader.CloseIdleConnections() // the last connection, for which the service waits
	if lines := strings.Count(string(body), "\n"); err != nil || lines != n {
		t.Errorf("%d IDs of %d, then %v", lines, n, err)
	}
	if r.end(t); log.find("stopped")["issued"].(float64) < n || log.find("requests were cut off") != nil {
		t.Errorf("log:\n%s", log)
	}
}

func TestRunCutsRequestsOffAfterTheGraceTime(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.grace = 100 * time.Millisecond
	r := ready(t, cfg, log)
	draw(t, newClient(t, "HTTP/2.0", nil), r, 100_000)
	if r.end(t); log.find("requests were cut off") == nil || log.find("stopped") == nil {
		t.Errorf("log:\n%s", log)
	}
}

// Redis keeps a worker ID back for more than a minute. The service lives, says why it is not ready,
// has metrics and a page, and can be stopped.
func TestRunIsNotReadyDuringAQuarantine(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.StoreURL = testserver.Redis(t).DSN()
	r := start(t, cfg, log, "waiting for a worker ID")
	for _, tt := range []struct{ path, status, body string }{
		{"/healthz", "200", "ok"}, {"/", "200", "<html"}, {"/readyz", "503", "There is no worker ID: worker ID in quarantine. The next try is at "},
		{"/v1/id", "503", "#starting"}, {"/events", "503", "worker ID in quarantine"}, {"/metrics", "200", `uidring_http_requests_total{code="503",route="/readyz"} 1`},
	} {
		answer, body, err := httpcall.Send(t.Context(), http.DefaultClient, http.MethodGet, "http://"+r.at(tt.path)+tt.path, "", nil, 1<<20)
		testkit.Must(t, err)
		if answer.Status[:3] != tt.status || !strings.Contains(string(body), tt.body) || tt.status == "503" && answer.Header.Get("Retry-After") != "10" {
			t.Errorf("%s: %s %v: %s, want %v", tt.path, answer.Status, answer.Header, body, tt)
		}
	}
	r.end(t)
}

// A database is away for longer than a call that creates the tables may take. The reason of the
// wait shows while the first call is under way.
func TestRunWaitsForItsDatabase(t *testing.T) {
	takesTime(t)
	t.Parallel()
	cfg, log := testConfig(t)
	server := testserver.MariaDB(t)
	cfg.StoreURL = "mysql://root@" + server.Addr() + "/uidring"
	server.Kill9()
	r := start(t, cfg, log, "waiting for a worker ID")
	testkit.Until(t, "the reason", func() bool {
		_, body, err := get(http.DefaultClient, r.adminURL()+"/readyz")
		testkit.Must(t, err)
		return strings.Contains(body, "the store does not answer")
	})
	const second = "cannot create the tables"
	if text := log.String(); !strings.Contains(text, "connection refused") || strings.Contains(text, second) {
		t.Errorf("log:\n%s", text)
	}
	testkit.Until(t, "a second call", func() bool { return strings.Contains(log.String(), second) })
	server.Restart()
	testkit.Until(t, "a worker ID", func() bool { return log.find("ready") != nil || len(r.ended) > 0 })
}

// A timedStore keeps the longest time that a call of Status may take.
type timedStore struct {
	leasestore.Store
	longest time.Duration
}

func (s *timedStore) Status(ctx context.Context) (leasestore.Status, error) {
	end, _ := ctx.Deadline()
	s.longest = max(s.longest, time.Until(end))
	return s.Store.Status(ctx)
}

// A database may be so slow that a claim takes longer than storeTimeout.
func TestClaimHasTheTimeThatTheLibraryGivesIt(t *testing.T) {
	cfg, _ := testConfig(t)
	s, err := New(cfg)
	testkit.Must(t, err)
	defer s.closeStore()
	store := &timedStore{Store: s.store.Store}
	s.store.Store = store
	testkit.Must(t, s.takeWorkerID(t.Context(), func(error) {}))
	testkit.Must(t, s.generator.Close())
	if store.longest <= 2*storeTimeout {
		t.Errorf("a claim may take %v, want 25s", store.longest)
	}
}

// A burst of silent connections, more than either listener has places, ends with the time limit for
// a header. Few open files lower max-connections.
func TestBurstOfSilentConnectionsIsOutlasted(t *testing.T) {
	takesTime(t)
	for shell, silent := range map[string]struct{ api, admin int }{"true": {4200, 300}, "ulimit -n 512": {500, 100}} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			c := launch(t, exec.Command("sh", "-c", shell+` && exec "$@"`, "sh", os.Getenv(programEnv), "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0",
				"--log-format=json", "--data="+testserver.DiskFolder(t))).ready()
			for address, n := range map[string]int{c.address: silent.api, c.admin: silent.admin} {
				for range n {
					dial(t, address)
				}
			}
			const full = "all connections are taken, others wait: end clients that keep idle connections, or raise max-connections, which bounds listen"
			testkit.Until(t, "a warning of each listener", func() bool { return strings.Count(c.log.String(), full) == 2 })
			for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/v1/id"} {
				if status, _, err := get(newClient(t, "HTTP/1.1", nil), "http://"+c.at(path)+path); status != http.StatusOK {
					t.Errorf("%s: status %d, %v", path, status, err)
				}
			}
			if lowered := c.log.find("max-connections is lowered: the process may not open enough files"); (lowered != nil) != (shell != "true") {
				t.Errorf("logged %v", lowered)
			}
			c.terminate()
			if record := c.log.find("requests were cut off"); record != nil {
				t.Errorf("logged %v", record)
			}
		})
	}
}

// Clients without a token that keep their connections leave places to others: after an answer, and
// in HTTP/2 before the first request.
func TestIdleConnectionsLeavePlaces(t *testing.T) {
	takesTime(t)
	t.Parallel()
	cfg, log := testConfig(t)
	cfg.MaxConnections = 8
	r := ready(t, cfg, log)
	var last net.Conn
	for i := range 20 {
		last = dial(t, r.address)
		fmt.Fprint(last, "GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(last), nil); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	for range 3 { // one more than places are left
		last = dial(t, r.address)
		fmt.Fprint(last, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	}
	testkit.Must(t, last.SetDeadline(time.Now().Add(idleTimeout/4))) // before a missing answer to a ping ends them
	if _, err := last.Read(make([]byte, 1)); err != nil {
		t.Errorf("a connection of HTTP/2: %v", err)
	}
}

// Mistakes of clients would fill the log, but errors that concern the operator must be in it.
func TestErrorLogTellsMistakesOfClientsApart(t *testing.T) {
	for text, want := range map[string]string{
		"http: TLS handshake error from 10.0.0.1:1: EOF\n":                       "",
		"http: Accept error: accept tcp: too many open files; retrying in 5ms\n": "level=WARN",
	} {
		var log bytes.Buffer
		newHTTPServer(http.NotFoundHandler(), false, slog.New(slog.NewTextHandler(&log, nil))).ErrorLog.Print(text)
		if (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) {
			t.Errorf("%q is logged as %q, want %q", text, &log, want)
		}
	}
}

// Each client stalls at another step, and loses the only place to the next one after a time limit.
// The limits are a hundredth of the real ones.
func TestStalledClientsLoseTheirPlaces(t *testing.T) {
	takesTime(t)
	service := &Service{cfg: Config{MaxConnections: 1}, logger: slog.New(slog.DiscardHandler)}
	connections, _ := service.connections()
	n, err := service.newSite(t.Context(), "listen", "127.0.0.1:0", connections)
	testkit.Must(t, err)
	for _, limit := range []*time.Duration{&n.server.ReadHeaderTimeout, &n.server.ReadTimeout, &n.server.WriteTimeout, &n.server.IdleTimeout} {
		*limit /= 100
	}
	var cut atomic.Bool
	n.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			_, _ = io.Copy(io.Discard, r.Body)
		case "/endless":
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 64<<10))
			}
			cut.Store(true)
		case "/last":
			if !cut.Load() {
				t.Error("a connection is served beside another one")
			}
		}
	})
	go func() { _ = n.serve() }()
	defer n.server.Close()
	var last net.Conn
	for _, request := range []string{
		"", "GET / HTTP/1.1\r\nHost:", "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
		"GET /idle HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /last HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		last = dial(t, n.Addr().String())
		_, err := io.WriteString(last, request)
		testkit.Must(t, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(last), nil)
	testkit.Must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", answer.StatusCode)
	}
}

// After a failover that loses commits, worker IDs begin above MaxLead. A server must not have been
// further ahead of the clock by then.
func TestNoServerIsAheadOfMaxLead(t *testing.T) {
	for _, c := range []struct{ window, ahead, maxAhead, maxLead time.Duration }{
		{maxAhead: 5 * time.Minute},
		{window: 10 * time.Second, maxAhead: 25 * time.Second},
		{ahead: 4 * time.Minute, maxAhead: 4 * time.Minute},
		{ahead: time.Hour, maxAhead: time.Hour, maxLead: time.Hour},
	} {
		cfg, _ := testConfig(t)
		cfg.Lease.Window, cfg.Generator.MaxAhead = c.window, c.ahead
		s, err := New(cfg)
		testkit.Must(t, err)
		s.closeStore()
		if got := s.cfg; got.Generator.MaxAhead != c.maxAhead || got.Lease.MaxLead != c.maxLead {
			t.Errorf("window %v, max-ahead %v: MaxAhead %v, MaxLead %v; want %v, %v",
				c.window, c.ahead, got.Generator.MaxAhead, got.Lease.MaxLead, c.maxAhead, c.maxLead)
		}
	}
}
