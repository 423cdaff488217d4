package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A logbook is the log of a service. Any number of goroutines may use it.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// records reads the log. Text that is not JSON, such as the trace of a panic, is a record of its
// own.
func (l *logbook) records() (all []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		record := map[string]any{}
		if json.Unmarshal([]byte(line), &record) != nil {
			record[slog.MessageKey] = strings.TrimSpace(line)
		}
		all = append(all, record)
	}
	return all
}

// find returns the last record with a message, or nil.
func (l *logbook) find(message string) (found map[string]any) {
	for _, record := range l.records() {
		if record[slog.MessageKey] == message {
			found = record
		}
	}
	return found
}

func (l *logbook) String() string {
	var text strings.Builder
	for _, record := range l.records() {
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
	must(t, err)
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
	must(t, err)
	request.Header.Set("Accept", "text/plain")
	answer, err := client.Do(request)
	must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

// Run drains, during which /readyz answers 503 and other requests are answered. Then it ends event
// streams, closes the listener of the API, answers requests on open connections and closes these,
// and waits for a client that reads slowly.
func TestRunEndsInOrder(t *testing.T) {
	t.Parallel()
	cfg, log := testConfig(t)
	cfg.Drain, cfg.linger = 2*time.Second, patience
	r := ready(t, cfg, log)
	const n = 100_000
	all := clients(t, nil)
	slow, client := draw(t, all["HTTP/2.0"], r, n), all["HTTP/1.1"]
	events := dial(t, r.admin)
	fmt.Fprint(events, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	stream, err := http.ReadResponse(bufio.NewReader(events), nil)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("event stream: %v", err)
	}
	r.stop()
	poll.Until(t, "a service that is not ready", func() bool {
		status, _, err := get(client, r.adminURL()+"/readyz")
		must(t, err)
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
	poll.Until(t, "a listener that is closed", func() bool {
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
	all["HTTP/2.0"].CloseIdleConnections() // the last connection, for which the service waits
	if lines := strings.Count(string(body), "\n"); err != nil || lines != n {
		t.Errorf("%d IDs of %d, then %v", lines, n, err)
	}
	if err := r.wait(t); err != nil || log.find("stopped")["issued"].(float64) < n || log.find("requests were cut off") != nil {
		t.Errorf("Run: %v; log:\n%s", err, log)
	}
}

func TestRunCutsRequestsOffAfterTheGraceTime(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.grace = 100 * time.Millisecond
	r := ready(t, cfg, log)
	draw(t, clients(t, nil)["HTTP/2.0"], r, 100_000)
	r.stop()
	if err := r.wait(t); err != nil || log.find("requests were cut off") == nil || log.find("stopped") == nil {
		t.Errorf("Run: %v; log:\n%s", err, log)
	}
}

// Redis keeps a worker ID back for more than a minute. The service lives, is not ready, and can be
// stopped.
func TestRunIsNotReadyDuringAQuarantine(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.StoreURL = testserver.Redis(t).DSN()
	r := start(t, cfg, log)
	poll.Until(t, "a quarantine", func() bool { return log.find("waiting for a worker ID") != nil || len(r.ended) > 0 })
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/v1/id": http.StatusServiceUnavailable, "/": http.StatusServiceUnavailable} {
		answer, err := clients(t, nil)["HTTP/1.1"].Get("http://" + r.at(path) + path)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want || want != http.StatusOK && (!strings.Contains(string(body), "#starting") || answer.Header.Get("Retry-After") == "" || answer.Header.Get("Refresh") == "") {
			t.Errorf("%s: %s %v %v: %s, want %d, with a time to try again", path, answer.Status, answer.Header, err, body, want)
		}
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

func TestRunRefusesToStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	cfg, log := testConfig(t)
	ready(t, cfg, log)
	taken := l.Addr().String()
	for want, set := range map[string]func(*Config){
		"^listen " + taken + ": ":       func(c *Config) { c.Listen = taken },
		"^admin-listen " + taken + ": ": func(c *Config) { c.AdminListen = taken },
		`: DatacenterID 0 in the store, here 3.*\(settings: layout, epoch, datacenter, first-worker-id\)`: func(c *Config) { c.Generator.DatacenterID = 3 },
	} {
		cfg := cfg
		set(&cfg)
		s, err := New(cfg)
		must(t, err)
		if err := s.Run(t.Context()); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("Run: %v, want %s", err, want)
		}
	}
}
