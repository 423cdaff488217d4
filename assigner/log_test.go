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
	s := &namedStore{memStore: newMemStore()}
	s.pin(0)
	s.status.Faults = []string{"sync_binlog is 0", "read_only is on"}
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	take(t, clocked(Leased(s, LeaseConfig{AllowUndurable: true, Logger: slog.New(handler)})))
	s.others = map[string]Meta{"users": s.meta}
	s.meta = Meta{}
	take(t, clocked(Leased(s, LeaseConfig{AllowUndurable: true, Logger: slog.New(handler)})))
	records := []struct{ message, values, keys string }{
		{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0 read_only is on]"`, "faults"},
		{"assigner: the other namespaces of the store cannot be read", `namespace=orders error="connection reset"`, "namespace, error"},
		{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0 read_only is on]"`, "faults"},
		{"assigner: the namespace is new in this store", `store="assigner, namespace \"orders\"" first=0`, "store, first"},
		{"assigner: other namespaces give out the same worker IDs", `namespace=orders others=[users]`, "namespace, others"},
	}
	text, err := os.ReadFile("../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, r := range records {
		want.WriteString(`level=WARN msg="` + r.message + `" ` + r.values + "\n")
		if row := "| WARN | `" + r.message + "` | " + r.keys + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/OPERATIONS.md lacks %s", row)
		}
	}
	if log.String() != want.String() {
		t.Errorf("log:\n%swant:\n%s", &log, want.String())
	}
}
