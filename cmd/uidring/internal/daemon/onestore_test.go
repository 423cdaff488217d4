package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A host has folders for stores and for the list of used ones.
type host struct {
	t          *testing.T
	home, data string
}

func newHost(t *testing.T) host {
	home := testserver.DiskFolder(t)
	h := host{t, home, filepath.Join(home, "data")}
	testkit.Must(t, os.Mkdir(h.data, 0o700))
	return h
}

func (h host) file() string { return filepath.Join(h.data, "uidring.db") }

// config is a Config with the store of a folder.
func (h host) config(folder string) Config {
	cfg, _ := testConfig(h.t)
	cfg.StoreURL, cfg.KnownStores = "sqlite:"+filepath.Join(folder, "uidring.db"), filepath.Join(h.home, "known")
	return cfg
}

// serve runs a service until it has a worker ID, or until its log has another message.
func (h host) serve(cfg Config, message string) *logbook {
	h.t.Helper()
	log := new(logbook)
	cfg.Logger = slog.New(slog.NewJSONHandler(log, nil))
	if start(h.t, cfg, log, message).end(h.t); log.find(message) == nil {
		h.t.Errorf("no %q in\n%s", message, log)
	}
	return log
}

// refused wants the service not to start because of its store, with texts in the error.
func (h host) refused(cfg Config, texts ...string) {
	h.t.Helper()
	s, err := New(cfg)
	testkit.Must(h.t, err)
	err = s.Run(h.t.Context())
	for _, text := range texts {
		if !errors.Is(err, ErrSecondStore) || !strings.Contains(err.Error(), text) {
			h.t.Errorf("Run: %v, want %q in it", err, text)
		}
	}
}

// serve does not replace a lost or moved store with a new one, which would begin at worker ID 0.
func TestServiceDoesNotReplaceALostStore(t *testing.T) {
	for name, lose := range map[string]func(h host) error{
		"which is gone or empty": func(h host) error { return os.Rename(h.file(), h.file()+"-moved") },
		"gone or empty":          func(h host) error { return os.Truncate(h.file(), 0) },
		"which was replaced: its ID is ": func(h host) error {
			other := newHost(h.t)
			other.serve(other.config(other.data), "ready")
			return os.Rename(other.file(), h.file())
		},
	} {
		h := newHost(t)
		h.serve(h.config(h.data), "ready")
		testkit.Must(t, lose(h))
		cfg := h.config(h.data)
		h.refused(cfg, name, h.file(), "new-store")
		cfg.NewStore = true
		h.serve(cfg, "ready")
		h.serve(h.config(h.data), "ready") // the service expects this store from now on
	}
}

func TestServiceRefusesAStoreBesideAnother(t *testing.T) {
	h := newHost(t)
	h.serve(h.config(h.data), "ready")
	cfg := h.config(testserver.DiskFolder(t))
	h.refused(cfg, `namespace "test" has a store at `+h.file(), "new-store")
	other := cfg
	other.Namespace = "another" // of which there is none yet
	h.serve(other, "ready")
	other.Namespace, other.StoreURL = "test", "file://"+testserver.DiskFolder(t)
	h.refused(other, h.file())
	cfg.NewStore = true
	h.serve(cfg, "ready")
	h.serve(cfg, "new-store is set and not needed: remove it, since a store that is lost would be replaced unnoticed")
	h.serve(h.config(h.data), "ready")
}

func TestServiceFollowsAMovedStoreAndRefusesACopy(t *testing.T) {
	h := newHost(t)
	h.serve(h.config(h.data), "ready")
	moved, copied := filepath.Join(h.home, "moved"), filepath.Join(h.home, "copied")
	testkit.Must(t, os.Rename(h.data, moved))
	for _, first := range []bool{true, false} {
		log := h.serve(h.config(moved), "ready")
		if record := log.find("store was moved"); (record != nil) != first || first && (record["from"] != h.file() || record["to"] != filepath.Join(moved, "uidring.db")) {
			t.Errorf("record %v, want one at the first start", record)
		}
	}
	testkit.Must(t, os.CopyFS(copied, os.DirFS(moved)))
	cfg := h.config(copied)
	h.refused(cfg, copied, "is a copy of "+moved, "delete it if the copy takes its place")
	cfg.NewStore = true
	h.refused(cfg, "is a copy of "+moved)
	testkit.Must(t, os.RemoveAll(moved))
	cfg.NewStore = false
	h.serve(cfg, "waiting for a worker ID") // a quarantine: the copy may be older than the original was
}

// A second host cannot be seen from here, but a server for other hosts is one of several more often
// than not.
func TestServiceForOtherHostsDoesNotCreateAStoreUnasked(t *testing.T) {
	h := newHost(t)
	cfg := h.config(h.data)
	cfg.Listen, cfg.Insecure = "0.0.0.0:0", true
	h.refused(cfg, "listen 0.0.0.0:0 can be reached from other hosts", "set store", "new-store")
	if _, err := os.Stat(h.file()); err == nil {
		t.Error("the store was made")
	}
	cfg.NewStore = true
	h.serve(cfg, "ready")
	cfg.NewStore = false
	h.serve(cfg, "ready")
}
