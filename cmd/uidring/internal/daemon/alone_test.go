package daemon

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The first steps of a new user: start serve without settings, draw IDs, scrape the metrics, open
// the page, kill the process, start it again. The first start alone logs that the store is new.
func TestServeAlone(t *testing.T) {
	h := newHost(t)
	client, all := clients(t, nil)["HTTP/1.1"], new(idset.Set)
	start := func(fresh bool) *child {
		c := h.serve()
		ids, err := fetch(t.Context(), client, c.url(), 20_000)
		must(t, err)
		all.Once(t, ids...)
		if n := strings.Count(c.log.String(), "level:WARN"); (c.log.find(newStoreMessage) != nil) != fresh || (n == 1) != fresh || n > 1 {
			t.Errorf("%d warnings, want one, of a new store: %v\n%s", n, fresh, c.log)
		}
		if ready := c.log.find("ready"); ready["this_host_only"] != true || ready["store_id"] == "" || ready["namespace"] != "default" || ready["page"] != c.adminURL()+"/" {
			t.Errorf("logged %v", ready)
		}
		return c
	}
	first := start(true)
	checkPrivate(t, h.data)
	for path, want := range map[string]string{
		"/metrics": `\nuidring_store_info\{datacenter="0",id="[A-Z2-7]{26}",local="true",namespace="default",store="sqlite://[^"]*"\} 1\n`,
		"/":        "<html", "/readyz": "ready", "/healthz": "ok", "/openapi.json": "openapi",
	} {
		if status, body, err := get(client, "http://"+first.at(path)+path); status != http.StatusOK || !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("%s: status %d, %v, want %q in\n%s", path, status, err, want, body)
		}
	}
	if lasts := first.metric("uidring_window_lasts_seconds"); lasts < 200 { // without its store
		t.Errorf("the window lasts %.0f s, want about 300", lasts)
	}
	first.Kill()
	second := start(false)
	second.terminate()
	third := start(false)
	if second.worker() == first.worker() || third.worker() != second.worker() {
		t.Errorf("workers %d, %d after a kill, and then %d; want another one, and the same again", first.worker(), second.worker(), third.worker())
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
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, want none for others", path, info.Mode())
		}
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
	must(t, err)
	defer socket.Close()
	must(t, socket.SetDeadline(time.Now().Add(patience)))
	told := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		n, err := socket.Read(message)
		if err != nil || string(message[:n]) != want {
			t.Errorf("told %q, %v, want %q", message[:n], err, want)
		}
	}
	h := newHost(t)
	h.env = "NOTIFY_SOCKET=" + path
	c := h.launch("--data=" + h.data)
	told("READY=1")
	c.ready()
	c.signal(syscall.SIGTERM)
	told("STOPPING=1")
	c.wait()
}
