package assigner

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestLogRecords pins level, message and keys down: people search and alert for them.
func TestLogRecords(t *testing.T) {
	s := newMemStore()
	s.status.Faults = []string{"sync_binlog is 0", "read_only is on"}
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	take(t, Leased(s, LeaseConfig{AllowUndurable: true, Logger: slog.New(handler)}))
	const message = "assigner: the store may forget what it has acknowledged"
	if want := `level=WARN msg="` + message + `" faults="[sync_binlog is 0 read_only is on]"` + "\n"; log.String() != want {
		t.Errorf("log:\n%swant:\n%s", &log, want)
	}
	text, err := os.ReadFile("../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	if row := "| WARN | `" + message + "` | faults |"; !strings.Contains(string(text), row) {
		t.Errorf("docs/OPERATIONS.md lacks %s", row)
	}
}
