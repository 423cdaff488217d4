package daemon

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A host has a folder in which serve keeps its data, and the environment that leads there.
type host struct {
	t    *testing.T
	home string
	data string
	env  string
}

const newStoreMessage = "assigner: the namespace is new in this store"

// newHost is the host of a user.
func newHost(t *testing.T) host {
	home := testserver.DiskFolder(t)
	return host{t, home, filepath.Join(home, ".local", "share", "uidring"), "HOME=" + home}
}

// newUnit is a host on which systemd runs serve, with folders for data and for the list of stores.
func newUnit(t *testing.T) host {
	dir := testserver.DiskFolder(t)
	data := filepath.Join(dir, "data")
	return host{t, dir, data, "STATE_DIRECTORY=" + data + ":" + filepath.Join(dir, "known")}
}

func (h host) file() string { return filepath.Join(h.data, "uidring.db") }

// launch starts uidring serve with its default settings and more arguments.
func (h host) launch(args ...string) *child {
	h.t.Helper()
	cmd := program(args...)
	cmd.Env = []string{h.env}
	return launch(h.t, cmd)
}

// serve does it, and returns once there is a worker ID.
func (h host) serve(args ...string) *child {
	h.t.Helper()
	c := h.launch(args...)
	c.ready()
	return c
}

// refused wants it to end with exit code 2, which systemd takes for an answer, and texts in its
// error.
func (h host) refused(args []string, texts ...string) {
	h.t.Helper()
	c := h.launch(args...)
	c.wait()
	log := c.log.String()
	for _, text := range append(texts, "second store of worker IDs: ") {
		if !strings.Contains(log, text) {
			h.t.Errorf("%q: no %q in\n%s", args, text, log)
		}
	}
	if code := c.Cmd.ProcessState.ExitCode(); code != 2 || strings.Contains(log, "ready") {
		h.t.Errorf("%q: exit code %d, want 2\n%s", args, code, log)
	}
}

// serve does not replace a lost or moved store with a new one, which would begin at worker ID 0.
func TestServeDoesNotReplaceALostStore(t *testing.T) {
	move := func(h host) error { return os.Rename(h.data, h.data+"-moved") }
	for name, tt := range map[string]struct {
		host func(t *testing.T) host
		lose func(h host) error
		want string
	}{
		"moved":                  {newHost, move, "is gone or empty"},
		"moved, of a unit":       {newUnit, move, "is gone or empty"},
		"emptied":                {newHost, func(h host) error { return os.Truncate(h.file(), 0) }, "is gone or empty"},
		"replaced by a new file": {newHost, anotherStore, "was replaced: its ID is "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := tt.host(t)
			h.serve().terminate()
			must(t, tt.lose(h))
			h.refused(nil, tt.want, h.file(), "new-store")
			c := h.serve("--new-store")
			if c.log.find("settings") == nil || (name != "replaced by a new file") != (c.log.find(newStoreMessage) != nil) {
				t.Errorf("log:\n%s", c.log)
			}
			c.terminate()
			h.serve().terminate() // serve expects this store from now on
		})
	}
}

// anotherStore puts the store of another host into the place of this one's.
func anotherStore(h host) error {
	other := newHost(h.t)
	other.serve().terminate()
	return os.Rename(other.file(), h.file())
}

func TestServeRefusesAStoreBesideAnother(t *testing.T) {
	h := newHost(t)
	h.serve().terminate()
	other := "--data=" + testserver.DiskFolder(t)
	h.refused([]string{other}, "this host has a store of namespace \"default\" at "+h.file(), "new-store")
	h.refused([]string{"--store=file://" + testserver.DiskFolder(t)}, h.file())
	h.serve(other, "--namespace=another").terminate() // of which there is none yet
	h.serve(other, "--new-store").terminate()
	h.serve(other).terminate()
	h.serve().terminate()
	if c := h.serve("--new-store"); c.log.find("new-store is set and not needed: remove it, since a store that is lost would be replaced unnoticed") == nil {
		t.Errorf("log:\n%s", c.log)
	}
}

func TestServeFollowsAMovedStoreAndRefusesACopy(t *testing.T) {
	h := newHost(t)
	h.serve().terminate()
	moved, copied := filepath.Join(h.home, "moved"), filepath.Join(h.home, "copied")
	must(t, os.Rename(h.data, moved))
	for _, first := range []bool{true, false} {
		c := h.serve("--data=" + moved)
		c.terminate()
		if record := c.log.find("store was moved"); (record != nil) != first || first && (record["from"] != h.file() || record["to"] != filepath.Join(moved, "uidring.db")) {
			t.Errorf("record %v, want one at the first start", record)
		}
	}
	must(t, os.CopyFS(copied, os.DirFS(moved)))
	h.refused([]string{"--data=" + copied}, copied, "is a copy of "+moved, "delete it if the copy takes its place")
	h.refused([]string{"--data=" + copied, "--new-store"}, "is a copy of "+moved)
	must(t, os.RemoveAll(moved))
	c := h.launch("--data=" + copied) // the copy may be older than the original was
	poll.Until(t, "a quarantine", func() bool { return c.log.find("waiting for a worker ID") != nil || c.hasEnded() })
	if c.hasEnded() {
		t.Errorf("log:\n%s", c.log)
	}
}

// A second host cannot be seen from here, but a server for other hosts is one of several more often
// than not.
func TestServeForOtherHostsDoesNotCreateAStoreUnasked(t *testing.T) {
	h := newHost(t)
	reachable := []string{"--listen=0.0.0.0:0", "--insecure"}
	h.refused(reachable, "listen 0.0.0.0:0 can be reached from other hosts", "set store", "new-store")
	h.refused(append(reachable, "--store=file://"+testserver.DiskFolder(t)), "can be reached from other hosts")
	if _, err := os.Stat(h.data); err == nil {
		t.Error("the data folder was made")
	}
	h.serve(append(reachable, "--new-store")...).terminate()
	h.serve(reachable...).terminate()
}

// The store is renewed in a file that has another name or none, and would be lost with the process.
// The page says so.
func TestPageReportsAStoreMovedInUse(t *testing.T) {
	h := newHost(t)
	c := h.serve("--window=1s")
	events := dial(t, c.admin)
	fmt.Fprint(events, "GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n")
	must(t, os.Rename(h.data, h.data+"-moved"))
	verdict := regexp.MustCompile(`Store sqlite://\S+uidring\.db has refused calls since \d\d:\d\d:\d\d UTC: .*the file ` + h.file() + ` was moved, replaced or deleted while it was open`)
	for lines := bufio.NewScanner(events); ; {
		if !lines.Scan() {
			t.Fatalf("no such verdict: %v\n%s", lines.Err(), c.log)
		}
		if verdict.Match(lines.Bytes()) {
			return
		}
	}
}
