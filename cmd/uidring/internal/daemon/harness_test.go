package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// programEnv has the path of the program while tests run.
const programEnv = "TEST_UIDRING"

// TestMain builds the program once, as it is built for others: static. It does so without
// -trimpath, with which everything would be compiled once more.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "uidring-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program := filepath.Join(dir, "uidring")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-buildvcs=false", "-o", program, "github.com/uidring/uidring/cmd/uidring")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	code := 1
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, out)
	} else if err := os.Setenv(programEnv, program); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// takesTime skips a test that waits by the real clock where tests are to be short.
func takesTime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("waits by the real clock")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

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

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// find returns the last record with a message, or nil.
func (l *logbook) find(message string) (found map[string]any) {
	for line := range strings.Lines(l.String()) {
		record := map[string]any{}
		if json.Unmarshal([]byte(line), &record) == nil && record[slog.MessageKey] == message {
			found = record
		}
	}
	return found
}

// addresses are of the two listeners of a service.
type addresses struct{ address, admin string }

func (l *logbook) addresses() addresses {
	record := l.find("listening")
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
			Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", MaxAge: time.Minute, Version: "test", Logger: slog.New(slog.NewJSONHandler(log, nil)),
		},
		MaxConnections: 1000,
		StoreURL:       "sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db"),
		Namespace:      "test",
		CreateSchema:   true,
		Generator:      cached.Config{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()},
		grace:          testkit.Patience,
	}, log
}

// start runs a service until the test ends, and returns once the log has a message.
func start(t *testing.T, cfg Config, log *logbook, message string) *running {
	t.Helper()
	s, err := New(cfg)
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{log: log, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- s.Run(ctx) }()
	t.Cleanup(func() { r.end(t) })
	testkit.Until(t, message, func() bool { return log.find(message) != nil || len(r.ended) > 0 })
	if log.find("listening") != nil {
		r.addresses = log.addresses()
	}
	return r
}

// ready is start, up to a worker ID.
func ready(t *testing.T, cfg Config, log *logbook) *running {
	t.Helper()
	return start(t, cfg, log, "ready")
}

// end stops the service, and may be called again.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
		r.ended <- nil
	case <-time.After(testkit.Patience):
		t.Fatalf("Run has not ended within %v\n%s", testkit.Patience, r.log)
	}
}

// A child is a process of the program. It belongs to the test, which kills it in the end.
type child struct {
	*process.Process
	t   *testing.T
	log *logbook
	addresses
}

// serve starts uidring serve on free ports with more arguments, and returns once it has a worker
// ID.
func serve(t *testing.T, args ...string) *child {
	t.Helper()
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-format=json"}, args...)
	return launch(t, exec.Command(os.Getenv(programEnv), args...)).ready()
}

// launch starts a command in an environment without settings.
func launch(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "UIDRING_") })
	cmd.Env = append(cmd.Env, "STATE_DIRECTORY=", "XDG_STATE_HOME="+t.TempDir()) // no store is known
	c := &child{t: t, log: new(logbook)}
	cmd.Stderr = c.log
	var err error
	c.Process, err = process.Start(cmd)
	testkit.Must(t, err)
	t.Cleanup(c.Kill)
	return c
}

func (c *child) ready() *child {
	c.t.Helper()
	testkit.Until(c.t, "a worker ID", func() bool {
		if c.hasEnded() {
			c.t.Fatalf("%v: %v\n%s", c.Cmd, c.Cmd.ProcessState, c.log)
		}
		return c.log.find("ready") != nil
	})
	c.addresses = c.log.addresses()
	return c
}

func (c *child) hasEnded() bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// worker is the worker ID that it has begun with.
func (c *child) worker() int { return int(c.log.find("ready")["worker"].(float64)) }

// metric returns a metric without labels.
func (c *child) metric(name string) float64 {
	c.t.Helper()
	_, body, err := get(http.DefaultClient, c.adminURL()+"/metrics")
	_, rest, _ := strings.Cut(body, "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	number, errNumber := strconv.ParseFloat(text, 64)
	testkit.Must(c.t, errors.Join(err, errNumber))
	return number
}

// terminate asks it to end, and wants it to do so in order.
func (c *child) terminate() {
	c.t.Helper()
	testkit.Must(c.t, c.Cmd.Process.Signal(syscall.SIGTERM))
	testkit.Until(c.t, "an end", c.hasEnded)
	if code := c.Cmd.ProcessState.ExitCode(); code != 0 || c.log.find("stopped") == nil {
		c.t.Errorf("after SIGTERM: %v, want exit status 0\n%s", c.Cmd.ProcessState, c.log)
	}
}

// newClient returns a client that speaks one version, HTTP/1.1 or HTTP/2.0.
func newClient(t *testing.T, version string, trust *tls.Config) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(version == "HTTP/1.1")
	protocols.SetHTTP2(version == "HTTP/2.0")
	protocols.SetUnencryptedHTTP2(version == "HTTP/2.0")
	transport := &http.Transport{
		Protocols:       protocols,
		TLSClientConfig: trust,
		HTTP2:           &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}, // bytes that a server can send to a client that does not read
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: testkit.Patience}
}

// get returns status and body.
func get(client *http.Client, url string) (int, string, error) { return getAs(client, "", url) }

// getAs is get with a token, if it is not "".
func getAs(client *http.Client, token, url string) (int, string, error) {
	answer, body, err := httpcall.Send(context.Background(), client, http.MethodGet, url, token, nil, 1<<20)
	if err != nil {
		return 0, "", err
	}
	return answer.StatusCode, string(body), nil
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, testkit.Patience)
	testkit.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	testkit.Must(t, conn.SetDeadline(time.Now().Add(testkit.Patience)))
	return conn
}

// draw requests more IDs than fit into the buffers of an HTTP/2 connection: the request is under
// way until the caller reads the body.
func draw(t *testing.T, client *http.Client, r *running, n int) io.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/v1/ids?n=%d", r.url(), n), nil)
	testkit.Must(t, err)
	request.Header.Set("Accept", "text/plain")
	answer, err := client.Do(request)
	testkit.Must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

// drawFrom has n clients draw IDs from servers until stop is called. No ID may come twice, and no
// call may fail.
func drawFrom(t *testing.T, issued *idset.Set, n int, servers ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for i := range n {
		c, err := client.New(client.Config{Servers: servers, Batch: []int{1, 100, 1000}[i%3]})
		testkit.Must(t, err)
		group.Go(func() {
			defer c.Close()
			for ctx.Err() == nil {
				id, err := c.NextContext(ctx)
				if err == nil {
					issued.Once(t, id)
				} else if ctx.Err() == nil {
					t.Errorf("client %d: %v", i, err)
				}
			}
		})
	}
	stop = func() {
		cancel()
		group.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// more waits until so many more IDs were issued.
func more(t *testing.T, issued *idset.Set, ids int) {
	t.Helper()
	goal := issued.Len() + ids
	testkit.Until(t, "IDs", func() bool { return issued.Len() >= goal })
}

// trusting is a configuration of clients that trust certificates.
func trusting(certs string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certs))
	return &tls.Config{RootCAs: pool}
}
