package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A logbook is the log of a service. Any number of goroutines may use it.
type logbook struct {
	mu   sync.Mutex
	part []byte // of the line that is being written
	all  []map[string]any
}

// Write reads records in JSON. Other text, such as the trace of a panic, becomes a record of its
// own.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for line := range strings.Lines(string(l.part)) {
		if !strings.HasSuffix(line, "\n") {
			l.part = []byte(line)
			return len(p), nil
		}
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) != nil {
			record = map[string]any{slog.MessageKey: strings.TrimSpace(line)}
		}
		l.all = append(l.all, record)
	}
	l.part = nil
	return len(p), nil
}

// find returns the last record with a message, or nil.
func (l *logbook) find(message string) (found map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range l.all {
		if record[slog.MessageKey] == message {
			found = record
		}
	}
	return found
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for _, record := range l.all {
		fmt.Fprintln(&text, record)
	}
	return text.String()
}

// addresses are of the two listeners of a service.
type addresses struct{ address, admin string }

func addressesOf(log *logbook) addresses {
	record := log.find("listening")
	return addresses{record["address"].(string), record["admin"].(string)}
}

func (a addresses) url() string      { return "http://" + a.address }
func (a addresses) adminURL() string { return "http://" + a.admin }

// at returns the address of the listener that serves a path.
func (a addresses) at(path string) string {
	if strings.HasPrefix(path, "/v1/") {
		return a.address
	}
	return a.admin
}

// A running service is one in this process.
type running struct {
	addresses
	log   *logbook
	stop  context.CancelFunc
	ended chan error // receives the error of Run
}

func testConfig(t *testing.T) (Config, *logbook) {
	log := new(logbook)
	return Config{
		Settings: httpapi.Settings{
			Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Version: "test", Logger: slog.New(slog.NewJSONHandler(log, nil)),
		},
		MaxConnections: 1000,
		StoreURL:       "sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db"),
		Namespace:      "test",
		CreateSchema:   true,
		Generator:      cached.Config{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()},
		grace:          patience,
	}, log
}

// start runs a service until the test ends, and returns once it listens.
func start(t *testing.T, cfg Config, log *logbook) *running {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{log: log, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := r.wait(t); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	poll.Until(t, "a listener", func() bool { return log.find("listening") != nil || len(r.ended) > 0 })
	if log.find("listening") != nil {
		r.addresses = addressesOf(log)
	}
	return r
}

// ready is start, up to a worker ID.
func ready(t *testing.T, cfg Config, log *logbook) *running {
	t.Helper()
	r := start(t, cfg, log)
	poll.Until(t, "a worker ID", func() bool { return log.find("ready") != nil || len(r.ended) > 0 })
	return r
}

// wait waits for the end of Run, and may be called again.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(patience):
		t.Fatalf("Run has not ended within %v\n%s", patience, r.log)
		return nil
	}
}

// get returns status and body.
func get(client *http.Client, url string) (int, string, error) { return getAs(client, "", url) }

// getAs is get with a token, if it is not "".
func getAs(client *http.Client, token, url string) (int, string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// draw requests more IDs than fit into the buffers of an HTTP/2 connection: the request is under
// way until the caller reads the body.
func draw(t *testing.T, client *http.Client, r *running, n int) io.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/v1/ids?n=%d", r.address, n), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/plain")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

// A client that reads slowly gets all that it has asked for, an event stream ends, and then Run
// does.
func TestRequestsUnderWayAreFinishedAndStreamsEnd(t *testing.T) {
	cfg, log := testConfig(t)
	r := ready(t, cfg, log)
	const n = 100_000
	slow := draw(t, clients(t, nil)["HTTP/2.0"], r, n)
	events := dial(t, r.admin)
	fmt.Fprint(events, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	stream, err := http.ReadResponse(bufio.NewReader(events), nil)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("event stream: %v", err)
	}

	r.stop()
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the event stream did not end in order: %v", err)
	}
	body, err := io.ReadAll(slow)
	if lines := strings.Count(string(body), "\n"); err != nil || lines != n {
		t.Errorf("%d IDs of %d, then %v", lines, n, err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if record := log.find("stopped"); record == nil || record["issued"].(float64) < n || log.find("requests were cut off") != nil {
		t.Errorf("log:\n%s", log)
	}
}

// A client that has connected before the shutdown gets an answer to a request that it sends during
// the shutdown. The answer closes the connection.
func TestNewcomersAreAnsweredAtTheEnd(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.linger = patience
	r := ready(t, cfg, log)
	var conns []net.Conn
	for range 20 {
		conns = append(conns, dial(t, r.address))
	}
	// The last one in the queue has been taken from it when another one after it is answered.
	if status, _, err := get(clients(t, nil)["HTTP/1.1"], r.url()+"/v1/parse/1"); status != http.StatusOK {
		t.Fatal(err)
	}
	r.stop()
	poll.Until(t, "a listener that is closed", func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	for i, conn := range conns {
		fmt.Fprint(conn, "GET /v1/id HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		if answer.StatusCode != http.StatusOK || !answer.Close {
			t.Errorf("connection %d: %s, closes: %v", i, answer.Status, answer.Close)
		}
	}
}

func TestGraceBoundsTheEnd(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.grace = 100 * time.Millisecond
	r := ready(t, cfg, log)
	draw(t, clients(t, nil)["HTTP/2.0"], r, 100_000)
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if log.find("requests were cut off") == nil || log.find("stopped") == nil {
		t.Errorf("log:\n%s", log)
	}
}

// During the drain /readyz answers 503, for load balancers, and other requests are still answered.
func TestDrainTakesRequestsAndIsNotReady(t *testing.T) {
	t.Parallel()
	cfg, log := testConfig(t)
	cfg.Drain = 2 * time.Second
	r := ready(t, cfg, log)
	for version, client := range clients(t, nil) {
		if status, body, err := get(client, r.adminURL()+"/readyz"); status != http.StatusOK {
			t.Errorf("%s: before: %d %s %v", version, status, body, err)
		}
	}
	r.stop()
	client := clients(t, nil)["HTTP/1.1"]
	poll.Until(t, "a service that is not ready", func() bool {
		status, _, err := get(client, r.adminURL()+"/readyz")
		if err != nil {
			t.Fatal(err)
		}
		return status == http.StatusServiceUnavailable
	})
	if status, body, err := get(client, r.url()+"/v1/id"); status != http.StatusOK {
		t.Errorf("while it drains: %d %s %v", status, body, err)
	}
}

// Redis keeps a worker ID back for more than a minute. The service lives, is not ready, and can be
// stopped.
func TestQuarantineIsNotReadyAndCanBeStopped(t *testing.T) {
	redis := testserver.Redis(t)
	cfg, log := testConfig(t)
	cfg.StoreURL = redis.DSN()
	r := start(t, cfg, log)
	poll.Until(t, "a quarantine", func() bool { return log.find("waiting for a worker ID") != nil || len(r.ended) > 0 })
	client := clients(t, nil)["HTTP/1.1"]
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/v1/id": http.StatusServiceUnavailable, "/": http.StatusServiceUnavailable,
	} {
		answer, err := client.Get("http://" + r.at(path) + path)
		if err != nil {
			t.Fatal(err)
		}
		var problem struct {
			Type   string
			Status int
		}
		if want != http.StatusOK {
			if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || problem.Status != want || !strings.HasSuffix(problem.Type, "#starting") || answer.Header.Get("Retry-After") == "" || answer.Header.Get("Refresh") == "" ||
				answer.Header.Get("Content-Type") != "application/problem+json" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %+v %v", path, answer.Header, err)
			}
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, answer.StatusCode, want)
		}
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

func TestStoreThatIsDownEndsTheStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the port is closed now
	cfg, log := testConfig(t)
	cfg.StoreURL = "mysql://ids:geheim@" + l.Addr().String() + "/ids"
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	if !errors.Is(err, sqlassigner.ErrUnreachable) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Run: %v", err)
	}
	if strings.Contains(err.Error()+log.String(), "geheim") {
		t.Errorf("the password is shown: %v\n%s", err, log)
	}
}

func TestAddressThatIsTakenEndsTheStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for setting, set := range map[string]func(*Config){
		"listen":       func(c *Config) { c.Listen = l.Addr().String() },
		"admin-listen": func(c *Config) { c.AdminListen = l.Addr().String() },
	} {
		cfg, _ := testConfig(t)
		set(&cfg)
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), setting+" "+l.Addr().String()+": ") {
			t.Errorf("Run: %v", err)
		}
	}
}

func TestRefusalOfTheStoreNamesSettings(t *testing.T) {
	cfg, log := testConfig(t)
	ready(t, cfg, log)
	cfg.Generator.DatacenterID = 3
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	for _, want := range []string{": DatacenterID 0 in the store, here 3", "(settings: layout, epoch, datacenter, first-worker-id)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: %v, want %q in it", err, want)
		}
	}
}
