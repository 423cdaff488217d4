package daemon

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is the delay from the first change to the reload: a certificate and its key are two files.
const settle = 100 * time.Millisecond

// A watch calls reload on SIGHUP, and when a folder of one of the files changes. It watches folders
// because files are replaced by renaming. Kubernetes replaces secrets by renaming a link beside the
// files.
type watch struct {
	folders []string
	reload  func(asked bool)
	logger  *slog.Logger
	hangup  chan os.Signal
	events  *fsnotify.Watcher // nil: changes are seen on SIGHUP only
}

// newWatch begins to watch the folders. Call run afterwards.
func newWatch(files []string, reload func(asked bool), logger *slog.Logger) *watch {
	w := &watch{reload: reload, logger: logger, hangup: make(chan os.Signal, 1)}
	signal.Notify(w.hangup, syscall.SIGHUP)
	for _, file := range files {
		if folder := filepath.Dir(file); !slices.Contains(w.folders, folder) {
			w.folders = append(w.folders, folder)
		}
	}
	if len(files) == 0 {
		return w
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		logger.Warn("files are not watched; send SIGHUP after a change", "error", err)
		return w
	}
	w.events = events
	w.add()
	return w
}

// add watches the folders. After a folder was replaced, add watches the new one; it does nothing
// for the others.
func (w *watch) add() {
	if w.events == nil {
		return
	}
	for _, folder := range w.folders {
		if err := w.events.Add(folder); err != nil {
			w.logger.Warn("folder is not watched; send SIGHUP after a change", "folder", folder, "error", err)
		}
	}
}

// run reloads the files after changes, until ctx ends.
func (w *watch) run(ctx context.Context) {
	defer signal.Stop(w.hangup)
	var changes <-chan fsnotify.Event // nil: none come
	var errs <-chan error
	if w.events != nil {
		defer w.events.Close()
		changes, errs = w.events.Events, w.events.Errors
	}
	w.reload(false)          // files may have changed before they were watched
	var due <-chan time.Time // nil: nothing has happened
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.hangup:
			w.add()
			w.reload(true)
		case event := <-changes:
			if due == nil && event.Op != fsnotify.Chmod {
				due = time.After(settle)
			}
		case err := <-errs:
			w.logger.Warn("changes of files may have been missed", "error", err)
			due = time.After(settle)
		case <-due:
			due = nil
			w.add()
			w.reload(false)
		}
	}
}
