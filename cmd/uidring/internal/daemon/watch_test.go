package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/poll"
)

// patience is how long anything may take that the machine alone decides about.
const patience = time.Minute

// watched loads a number from a file and follows it until the test ends.
func watched(t *testing.T, path string) *watchedFile[string] {
	t.Helper()
	r := number(path)
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	var looks atomic.Int64
	w := newWatch(r.files, func(asked bool) {
		r.refresh(asked, logger)
		looks.Add(1)
	}, logger)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	poll.Until(t, "the look at the beginning", func() bool { return looks.Load() > 0 })
	return r
}

func TestChangesOfAFileAreSeen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "number")
	write(t, path, "1")
	r := watched(t, path)
	becomes := func(want string) {
		t.Helper()
		poll.Until(t, "value "+want, func() bool { return *r.current() == want })
	}
	write(t, path, "2")
	becomes("2")
	write(t, filepath.Join(dir, "new"), "3")
	if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
		t.Fatal(err)
	}
	becomes("3")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, "4")
	becomes("4")
}

// Kubernetes has number -> ..data/number and ..data -> ..1, and changes a secret by renaming
// another link to ..data.
func TestSecretOfKubernetesIsSeenToChange(t *testing.T) {
	dir := t.TempDir()
	link := func(from, to string) {
		t.Helper()
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"1", "2"} {
		if err := os.Mkdir(filepath.Join(dir, ".."+version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".."+version, "number"), version)
	}
	link("..1", "..data")
	link("..data/number", "number")
	r := watched(t, filepath.Join(dir, "number"))
	link("..2", "..new")
	if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "value 2", func() bool { return *r.current() == "2" })
}

// hangup sends SIGHUP to this process.
func hangup() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGHUP)
}

// A file behind a link into another folder changes without a sign in the folder of the link. SIGHUP
// is for that.
func TestHangupHasFilesReadAgain(t *testing.T) {
	elsewhere, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(elsewhere, "number"), "1")
	if err := os.Symlink(filepath.Join(elsewhere, "number"), filepath.Join(dir, "number")); err != nil {
		t.Fatal(err)
	}
	r := watched(t, filepath.Join(dir, "number"))
	write(t, filepath.Join(elsewhere, "number"), "2")
	if err := hangup(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "value 2", func() bool { return *r.current() == "2" })
}

// Deployment tools replace whole folders. The new one is watched from the next SIGHUP on.
func TestFolderThatWasReplacedIsWatchedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	path := filepath.Join(dir, "number")
	replace := func(text string) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	replace("1")
	r := watched(t, path)
	replace("2")
	if err := hangup(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "value 2", func() bool { return *r.current() == "2" })
	write(t, path, "3")
	poll.Until(t, "value 3", func() bool { return *r.current() == "3" })
}

// A certificate and its key mostly lie in one folder.
func TestFolderOfTwoFilesIsReportedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	var log bytes.Buffer
	w := newWatch([]string{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}, func(bool) {}, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.run(ctx)
	if n := strings.Count(log.String(), "folder is not watched"); n != 1 {
		t.Errorf("%d records, want 1:\n%s", n, &log)
	}
}
