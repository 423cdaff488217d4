package httpapi

import (
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testserver"
)

func TestRequestsAreCountedByRouteAndCode(t *testing.T) {
	s := newServer(t, Config{})
	for path, times := range map[string]int{"/v1/id": 5, "/v1/ids?n=3": 2, "/v1/ids": 3, "/v1/parse/1": 2, "/healthz": 1, "/a": 1, "/b": 1, "/assets/a": 1} {
		for range times {
			call(s, path)
		}
	}
	s.Drain()
	call(s, "/readyz")
	s.metrics.usage("slow").count(http.StatusOK, 1500*time.Millisecond)
	wantMetrics(t, s,
		`uidring_http_requests_total{code="200",route="/v1/id"} 5`,
		`uidring_http_requests_total{code="200",route="/v1/ids"} 2`,
		`uidring_http_requests_total{code="400",route="/v1/ids"} 3`,
		`uidring_http_requests_total{code="200",route="/v1/parse/{id}"} 2`,
		`uidring_http_requests_total{code="200",route="/assets/"} 1`, // its handler wrote nothing
		`uidring_http_requests_total{code="503",route="/readyz"} 1`,
		`uidring_http_requests_total{code="404",route="unknown"} 2`,
		`uidring_http_request_duration_seconds_count{route="/v1/ids"} 5`,
		`uidring_http_request_duration_seconds_sum{route="slow"} 1.5`,
		`uidring_issued_ids_total 11`,
	)
	if answered, refused, failed := s.Traffic(); answered != 12 || refused != 3 || failed != 0 {
		t.Errorf("traffic %d, %d, %d; want 12, 3, 0", answered, refused, failed)
	}
}

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
