package service

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
)

// A reloaded value is made of the contents of files. What cannot be read or understood leaves the
// value as it was. Any number of goroutines may call current; the other methods belong to one at a
// time.
type reloaded[T any] struct {
	name     string   // for people
	files    []string // in the order that parse takes them
	parse    func(contents [][]byte) (T, error)
	describe func(T) string

	seen  [][]byte // by the last load or refresh, good or bad
	value atomic.Pointer[T]
}

// current returns the value that was made last, or nil.
func (r *reloaded[T]) current() *T { return r.value.Load() }

// load reads the files and makes the value of them.
func (r *reloaded[T]) load() error {
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

// refresh is load for files that may have changed. Where they have not, a mistake in them has been
// reported already; somebody who asks wants to read it again.
func (r *reloaded[T]) refresh(asked bool, logger *slog.Logger) {
	if contents, _ := r.read(); !asked && slices.EqualFunc(contents, r.seen, slices.Equal) {
		return
	}
	if err := r.load(); err != nil {
		logger.Warn(r.name+" not loaded, what was there stays", "files", r.files, "error", err)
		return
	}
	logger.Info(r.name+" loaded", "files", r.files, "contents", r.describe(*r.current()))
}

func (r *reloaded[T]) read() (contents [][]byte, err error) {
	for _, file := range r.files {
		content, errRead := os.ReadFile(file)
		contents, err = append(contents, content), errors.Join(err, errRead)
	}
	return contents, err
}

func (r *reloaded[T]) make(contents [][]byte) error {
	value, err := r.parse(contents)
	if err == nil {
		r.value.Store(&value)
	}
	return err
}
