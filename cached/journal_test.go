package cached_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// A journal records events in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// read returns the lines since the last read.
func (j *journal) read() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := slices.Clone(j.lines)
	j.lines = nil
	return lines
}

// leases returns funcs that record the events of worker IDs.
func (j *journal) leases() cached.Trace {
	return cached.Trace{
		LeaseAssigned: func(g assigner.Grant) { j.add("assigned %d", g.WorkerID) },
		LeaseLost:     func(workerID int64, err error) { j.add("lost %d: %v", workerID, err) },
		RenewFailed:   func(err error) { j.add("failed: %v", err) },
		Expiring:      func(expires time.Time) { j.add("expiring %s", expires.Format(time.DateOnly)) },
	}
}

// logger returns a logger that notes level and message of every record.
func (j *journal) logger() *slog.Logger { return slog.New(journalHandler{j}) }

type journalHandler struct{ *journal }

func (h journalHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h journalHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h journalHandler) WithGroup(string) slog.Handler            { return h }

func (h journalHandler) Handle(_ context.Context, r slog.Record) error {
	h.add("%v %s", r.Level, r.Message)
	return nil
}
