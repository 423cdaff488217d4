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
	for path, times := range map[string]int{"/v1/id": 5, "/v1/ids?n=3": 2, "/v1/ids": 3, "/v1/parse/1": 1, "/v1/parse/2": 1, "/healthz": 1, "/a": 1, "/b": 1} {
		for range times {
			call(s, path)
		}
	}
	s.Drain()
	call(s, "/readyz")
	wantMetrics(t, s,
		`uidring_http_requests_total{code="200",route="/v1/id"} 5`,
		`uidring_http_requests_total{code="200",route="/v1/ids"} 2`,
		`uidring_http_requests_total{code="400",route="/v1/ids"} 3`,
		`uidring_http_requests_total{code="200",route="/v1/parse/{id}"} 2`,
		`uidring_http_requests_total{code="200",route="/healthz"} 1`,
		`uidring_http_requests_total{code="503",route="/readyz"} 1`,
		`uidring_http_requests_total{code="404",route="unknown"} 2`,
		`uidring_http_request_duration_seconds_count{route="/v1/id"} 5`,
		`uidring_http_request_duration_seconds_count{route="/v1/ids"} 5`,
		`uidring_issued_ids_total 11`,
	)
	body := call(s, "/metrics").Body.String()
	for _, name := range []string{"go_build_info{", "go_goroutines ", "process_open_fds ", "uidring_remaining_ids ", "promhttp_metric_handler_errors_total"} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no %s in the metrics", name)
		}
	}
}

// A handler that writes nothing answers 200.
func TestUsageCountsSecondsAndAnEmptyAnswer(t *testing.T) {
	s := newServer(t, Config{})
	s.metrics.usage("/a").count(0, 1500*time.Millisecond, "")
	wantMetrics(t, s, `uidring_http_requests_total{code="200",route="/a"} 1`, `uidring_http_request_duration_seconds_sum{route="/a"} 1.5`)
}

// TestTheStatusIsTheLastOne counts 404 where early hints came first.
func TestTheStatusIsTheLastOne(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	})
	s := newServer(t, Config{Page: pageOf(page)})
	if answer, _ := do(t, http.DefaultClient, request(t, "GET", listen(t, both(s)).URL+"/assets/a")); answer.StatusCode != 404 {
		t.Fatalf("%d, want 404", answer.StatusCode)
	}
	wantMetrics(t, s, `uidring_http_requests_total{code="404",route="/assets/"} 1`)
}

func TestPromtoolFindsNothingToSay(t *testing.T) {
	promtool := testserver.Program(t, "promtool", "prometheus")
	s := newServer(t, Config{})
	call(s, "/v1/id")
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(call(s, "/metrics").Body.Bytes())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
