package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
)

// patience is how long anything may take that the machine alone decides about.
const patience = time.Minute

// watched loads a number from a file and follows it until the test ends.
func watched(t *testing.T, path string) *watchedFile[string] {
	t.Helper()
	r := number(path)
	must(t, r.load())
	logger := slog.New(slog.DiscardHandler)
	var looks atomic.Int64
	w := newWatch(r.files, func(asked bool) {
		r.refresh(asked, logger)
		looks.Add(1)
	}, logger)
	var group sync.WaitGroup
	group.Go(func() { w.run(t.Context()) })
	t.Cleanup(group.Wait)
	poll.Until(t, "the look at the beginning", func() bool { return looks.Load() > 0 })
	return r
}

// hangup sends SIGHUP to this process.
func hangup() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGHUP)
}

// Each way in which operators and Kubernetes change a file is seen. The file has the text 1 first.
func TestWatchSeesChanges(t *testing.T) {
	link := func(dir, from, to string) error { return os.Symlink(from, filepath.Join(dir, to)) }
	for name, tt := range map[string]struct {
		prepare func(dir string) error // nil: a file
		steps   []func(dir string) error
	}{
		"a secret of Kubernetes": {func(dir string) error { // number -> ..data/number, ..data -> ..1
			return errors.Join(put(filepath.Join(dir, "..1", "number"), "1"), put(filepath.Join(dir, "..2", "number"), "2"),
				link(dir, "..1", "..data"), link(dir, "..data/number", "number"))
		}, []func(dir string) error{
			func(dir string) error {
				return errors.Join(link(dir, "..2", "..new"), os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
			},
		}},
		"a link into another folder, with SIGHUP": {func(dir string) error {
			return errors.Join(put(filepath.Join(dir, "..", "elsewhere"), "1"), link(dir, "../elsewhere", "number"))
		}, []func(dir string) error{
			func(dir string) error { return errors.Join(put(filepath.Join(dir, "..", "elsewhere"), "2"), hangup()) },
		}},
		"a folder that is replaced, watched again from SIGHUP on": {nil, []func(dir string) error{
			func(dir string) error {
				return errors.Join(os.RemoveAll(dir), put(filepath.Join(dir, "number"), "2"), hangup())
			},
			func(dir string) error { return put(filepath.Join(dir, "number"), "3") },
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "files")
			if tt.prepare == nil {
				tt.prepare = func(dir string) error { return put(filepath.Join(dir, "number"), "1") }
			}
			must(t, errors.Join(os.Mkdir(dir, 0o700), tt.prepare(dir)))
			r := watched(t, filepath.Join(dir, "number"))
			for i, step := range tt.steps {
				must(t, step(dir))
				poll.Until(t, fmt.Sprint("value ", i+2), func() bool { return *r.current() == fmt.Sprint(i+2) })
			}
		})
	}
}

// put writes a file, and its folder if that is missing.
func put(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}
