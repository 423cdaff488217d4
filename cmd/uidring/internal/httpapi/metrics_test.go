package httpapi

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testserver"
)

func TestPromtoolFindsNothingToSay(t *testing.T) {
	promtool := testserver.Program(t, "promtool", "prometheus")
	s := newServer(t, Config{Segments: begunSegments(t)})
	call(s, "/v1/id")
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(call(s, "/metrics").Body.Bytes())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 || !strings.Contains(call(s, "/metrics").Body.String(), "\ngo_goroutines ") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
