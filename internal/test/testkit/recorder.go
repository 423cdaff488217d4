package testkit

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// A Recorder records events in order. The zero Recorder is ready to use. Any number of goroutines
// may use it at once.
type Recorder struct {
	mu    sync.Mutex
	lines []string
}

// Note records an event.
func (r *Recorder) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// Read returns the lines since the last Read.
func (r *Recorder) Read() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// Logger returns a logger that records level and message.
func (r *Recorder) Logger() *slog.Logger { return slog.New(handler{r}) }

type handler struct{ *Recorder }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h handler) WithGroup(string) slog.Handler            { return h }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.Note("%v %s", r.Level, r.Message)
	return nil
}

// TextLogger returns a logger that records all keys and values as text, except for the time and the
// frames of a stack.
func (r *Recorder) TextLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(writer{r}, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.TimeKey:
			return slog.Attr{}
		case a.Key == "stack" && strings.HasPrefix(a.Value.String(), "goroutine "):
			return slog.String("stack", "(of a goroutine)")
		}
		return a
	}}))
}

type writer struct{ *Recorder }

func (w writer) Write(p []byte) (int, error) {
	w.Note("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
