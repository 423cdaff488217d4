package daemon

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// The first steps of a new user: start serve without settings, draw IDs, parse one, scrape the
// metrics, open the page, kill the process, start it again.
func TestServeAlone(t *testing.T) {
	h := newHost(t)
	client, all := clients(t, nil)["HTTP/1.1"], new(idset.Set)
	draw := func(c *child, n int) []int64 {
		t.Helper()
		ids, err := fetch(t.Context(), client, c.url(), n)
		if err != nil {
			t.Fatal(err)
		}
		all.Once(t, ids...)
		return ids
	}
	first := h.serve()
	checkPrivate(t, h.data)
	id := draw(first, 1)[0]
	draw(first, 10_000)
	checkParsed(t, client, first, id)
	for path, want := range map[string]string{
		"/metrics": "uidring_http_requests_total", "/": "<html", "/readyz": "ready", "/healthz": "ok", "/openapi.json": "openapi",
	} {
		if status, body, err := get(client, "http://"+first.at(path)+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %v, want %q in the body", path, status, err, want)
		}
	}
	_, metrics, _ := get(client, first.adminURL()+"/metrics")
	if !regexp.MustCompile(`\nuidring_store_info\{datacenter="0",id="[A-Z2-7]{26}",local="true",namespace="default",store="sqlite://[^"]*"\} 1\n`).MatchString(metrics) {
		t.Errorf("no uidring_store_info with the ID of the store in\n%s", metrics)
	}
	// It goes on for minutes without its store.
	if lasts := first.metric("uidring_window_lasts_seconds"); lasts < 200 {
		t.Errorf("the window lasts %.0f s, want about 300", lasts)
	}
	first.Kill()
	second := h.serve()
	draw(second, 20_000)
	if second.worker() == first.worker() {
		t.Errorf("worker %d again, right after a kill", second.worker())
	}
	second.terminate()
	third := h.serve()
	draw(third, 20_000)
	if third.worker() != second.worker() {
		t.Errorf("worker %d, want %d, which was given back", third.worker(), second.worker())
	}
	third.terminate()
}

// checkPrivate wants a folder and its files to be for their owner only.
func checkPrivate(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("data folder: %d files, %v", len(files), err)
	}
	for _, path := range []string{folder, filepath.Join(folder, files[0].Name())} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, want none for others", path, info.Mode())
		}
	}
}

func checkParsed(t *testing.T, client *http.Client, c *child, id int64) {
	t.Helper()
	status, body, err := get(client, c.url()+"/v1/parse/"+strconv.FormatInt(id, 10))
	var parsed struct {
		ID     string
		Worker int
		Time   time.Time
	}
	if err := json.Unmarshal([]byte(body), &parsed); err != nil || status != http.StatusOK {
		t.Fatalf("parse: status %d %s: %v", status, body, err)
	}
	if age := time.Since(parsed.Time).Abs(); err != nil || parsed.ID != strconv.FormatInt(id, 10) || parsed.Worker != c.worker() || age > time.Hour {
		t.Errorf("parse %d of worker %d: %+v", id, c.worker(), parsed)
	}
}

// The second signal ends the process at once, even during a long drain. A signal right after the
// first counts as the same signal.
func TestServeEndsAtOnceOnTheSecondSignal(t *testing.T) {
	c := serve(t, "--data="+testserver.DiskFolder(t), "--drain=1h")
	began := time.Now()
	c.signal(syscall.SIGTERM)
	poll.Until(t, "an end", func() bool {
		_ = c.Cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		return c.hasEnded()
	})
	if took := time.Since(began); took < 500*time.Millisecond || c.Cmd.ProcessState.Success() {
		t.Errorf("ended after %v: %v", took, c.Cmd.ProcessState)
	}
}

func TestServeNotifiesSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		n, err := socket.Read(message)
		if err != nil || string(message[:n]) != want {
			t.Errorf("told %q, %v, want %q", message[:n], err, want)
		}
	}
	cmd := exec.Command(os.Getenv(programEnv), "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-format=json", "--data="+testserver.DiskFolder(t))
	cmd.Env = []string{"NOTIFY_SOCKET=" + path}
	c := launch(t, cmd)
	told("READY=1")
	c.ready()
	c.signal(syscall.SIGTERM)
	told("STOPPING=1")
	c.wait()
}
