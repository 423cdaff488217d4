package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
)

// A watchedFile is parsed from files. Unreadable or invalid files leave the value unchanged. Any
// number of goroutines may call current; call the other methods from one goroutine at a time.
type watchedFile[T any] struct {
	name     string   // for log records and errors
	files    []string // in the order of parse's contents
	secret   string   // the file that other users must not read
	parse    func(contents [][]byte) (T, error)
	describe func(earlier *T, now T) string // earlier is nil at the start

	seen  [][]byte // the contents that load last read, valid or not
	value atomic.Pointer[T]
}

// A fileInUse is a watchedFile of any value.
type fileInUse interface {
	load() error
	checkSecret(logger *slog.Logger)
	logStart(logger *slog.Logger)
	refresh(asked bool, logger *slog.Logger)
	paths() []string
}

func (r *watchedFile[T]) paths() []string { return r.files }

// current returns the last valid value, or nil.
func (r *watchedFile[T]) current() *T { return r.value.Load() }

// load reads and parses the files.
func (r *watchedFile[T]) load() error {
	contents, err := r.read()
	r.seen = contents
	if err == nil {
		err = r.make(contents)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// checkSecret logs a warning if users of the host other than the owner and the group can read or
// change the secret file. It does not reject the file: Kubernetes mounts secrets with mode 0644.
func (r *watchedFile[T]) checkSecret(logger *slog.Logger) {
	info, err := os.Stat(r.secret)
	if err != nil || runtime.GOOS == "windows" { // which has no mode; load reports the error
		return
	}
	if info.Mode().Perm()&0o006 != 0 {
		logger.Warn(r.name+": other users of this host can read or change a secret file", "file", r.secret,
			"mode", fmt.Sprintf("%04o", info.Mode().Perm()), "allowed", "0640 or less, such as 0600")
	}
}

// logStart logs the contents at the start.
func (r *watchedFile[T]) logStart(logger *slog.Logger) {
	logger.Info(r.name+" loaded", "files", r.files, "contents", r.describe(nil, *r.current()))
}

// refresh loads the files if they have changed, or if asked is true, as on SIGHUP. It does not log
// the error of an unchanged file again, unless asked is true.
func (r *watchedFile[T]) refresh(asked bool, logger *slog.Logger) {
	if contents, _ := r.read(); !asked && slices.EqualFunc(contents, r.seen, slices.Equal) {
		return
	}
	earlier := r.current()
	err := r.load()
	r.checkSecret(logger)
	if err != nil {
		logger.Warn(r.name+" not loaded, the old contents stay in use", "files", r.files, "error", err)
		return
	}
	logger.Info(r.name+" loaded", "files", r.files, "contents", r.describe(earlier, *r.current()))
}

func (r *watchedFile[T]) read() (contents [][]byte, err error) {
	for _, file := range r.files {
		content, errRead := os.ReadFile(file)
		contents, err = append(contents, content), errors.Join(err, errRead)
	}
	return contents, err
}

func (r *watchedFile[T]) make(contents [][]byte) error {
	value, err := r.parse(contents)
	if err == nil {
		r.value.Store(&value)
	}
	return err
}
