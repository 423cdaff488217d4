package storetest

import (
	"context"
	"log/slog"
	"sync"
)

// A Log keeps the records of a logger.
type Log struct {
	mu    sync.Mutex
	texts []string
	first chan struct{} // closed at the first record
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{first: make(chan struct{})} }

// Logger returns a logger that writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(handler{l}) }

// First is closed when the first record is written.
func (l *Log) First() <-chan struct{} { return l.first }

// Texts returns level, message and attributes of each record.
func (l *Log) Texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.texts...)
}

func (l *Log) add(r slog.Record) {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts = append(l.texts, text); len(l.texts) == 1 {
		close(l.first)
	}
}

type handler struct{ log *Log }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h handler) WithGroup(string) slog.Handler            { return h }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.log.add(r)
	return nil
}
