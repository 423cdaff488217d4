package httpapi

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/segment"
)

const (
	segmentRoute = segmentsPath + "{name}"
	ordersPath   = segmentsPath + "orders"
)

func folder(dir string) segment.Source {
	return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: true})
}

// newSegments returns the segments orders and unused, with counters in a folder.
func newSegments(t *testing.T, dir string) *segments.Set {
	t.Helper()
	set := segments.New([]string{"unused", "orders"}, folder(dir), slog.New(slog.DiscardHandler))
	t.Cleanup(set.Close)
	return set
}

// begunSegments is newSegments after the ID 1 of orders. It waits for the first range longer than a
// request does.
func begunSegments(t *testing.T) *segments.Set {
	t.Helper()
	set := newSegments(t, t.TempDir())
	if id, err := set.All()[0].NextContext(t.Context()); err != nil || id != 1 {
		t.Fatalf("the first ID is %d, %v; want 1", id, err)
	}
	return set
}

// usedUp returns a folder whose counter orders has reached its end.
func usedUp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := segment.Recover(t.Context(), folder(dir), "orders", math.MaxInt64-10); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSegmentDraws(t *testing.T) {
	s := newServer(t, Config{Segments: begunSegments(t)})
	for _, row := range []struct{ query, accept, contentType, body string }{
		{"", "", "application/json", `{"id":"2"}` + "\n"},
		{"?n=3", "", "application/json", `{"ids":["3","4","5"]}` + "\n"},
		{"?n=100&form=ranges", "text/plain", "text/plain; charset=utf-8", "6 100\n"},
	} {
		w := call(s, ordersPath+row.query, "Accept", row.accept)
		if w.Code != 200 || w.Body.String() != row.body || w.Header().Get("Content-Type") != row.contentType {
			t.Errorf("%s as %q: %d, %s, %q; want 200, %s, %q", row.query, row.accept, w.Code, w.Header().Get("Content-Type"), w.Body, row.contentType, row.body)
		}
	}
	if w := ask(s, "HEAD", "example.com", ordersPath+"?n=100"); w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d, %q; want 200 without a body", w.Code, w.Body)
	}
	if body := call(s, ordersPath).Body.String(); body != `{"id":"106"}`+"\n" {
		t.Errorf("after HEAD: %s, want the ID 106", body)
	}
}

func TestSegmentRefusesWrongRequests(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t, Config{Settings: Settings{Rate: math.MaxInt32, Burst: 50}, Segments: newSegments(t, dir)})
	for _, row := range []struct{ url, name, detail string }{
		{"/v1/segments/invoices", "not-found", "This server has no such segment."},
		{"/v1/segments/", "not-found", "This server has no such segment."},
		{"/v1/segments/orders/1", "not-found", "This server has no such segment."},
		{"/v1/segments", "not-found", "There is nothing under this path; see /openapi.json."},
		{ordersPath + "?n=51", "bad-request", `Parameter n is "51", allowed: 1 to 50.`},
	} {
		if p := wantProblem(t, call(s, row.url), row.name, row.url); p.Detail != row.detail {
			t.Errorf("%s: %q, want %q", row.url, p.Detail, row.detail)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("the folder has %v, %v; want no counter without a valid request", files, err)
	}
	without := call(newServer(t, Config{}), ordersPath)
	if without.Code != 404 || !strings.Contains(without.Body.String(), "nothing under this path") {
		t.Errorf("a server without segments: %d, %s; want 404", without.Code, without.Body)
	}
}

// TestSegmentHasTheLimitsOfIDs: the token and the rate are common to all routes.
func TestSegmentHasTheLimitsOfIDs(t *testing.T) {
	tokens := newTokens(t, "alice "+alice)
	s := newServer(t, Config{Settings: Settings{Rate: 0.001, Burst: 10}, Tokens: func() Tokens { return tokens }, Segments: begunSegments(t)})
	if w := call(s, ordersPath); w.Code != 401 {
		t.Errorf("without a token: %d, want 401", w.Code)
	}
	bearer := []string{"Authorization", "Bearer " + alice}
	for _, row := range []struct {
		url    string
		status int
	}{{ordersPath + "?n=4", 200}, {"/v1/ids?n=4", 200}, {ordersPath + "?n=3", 429}, {ordersPath + "?n=2", 200}, {ordersPath, 429}} {
		if w := call(s, row.url, bearer...); w.Code != row.status {
			t.Errorf("%s: %d, want %d: %s", row.url, w.Code, row.status, w.Body)
		}
	}
}

// TestSegmentWithoutItsStore answers with an error that names no folder, leaves the service ready,
// and serves when the store is there.
func TestSegmentWithoutItsStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "counters")
	s := newServer(t, Config{Segments: newSegments(t, dir)})
	for range 2 {
		w := call(s, ordersPath)
		wantProblem(t, w, "no-range", "a segment without its store")
		if w.Header().Get("Retry-After") != "1" || strings.Contains(w.Body.String(), dir) {
			t.Errorf("Retry-After %q, %s; want 1, and no path", w.Header().Get("Retry-After"), w.Body)
		}
	}
	wantReady(t, s, "")
	wantMetrics(t, s, `uidring_segment_failed_sources{segment="orders"} 1`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "an ID", func() bool { return call(s, ordersPath).Code == 200 })
}

// TestSegmentsThatAreClosedAreShuttingDown, also a segment without a request before.
func TestSegmentsThatAreClosedAreShuttingDown(t *testing.T) {
	set := begunSegments(t)
	s := newServer(t, Config{Segments: set})
	if w := call(s, ordersPath); w.Code != 200 {
		t.Fatal(w.Body)
	}
	set.Close()
	for _, path := range []string{ordersPath, segmentsPath + "unused"} {
		wantProblem(t, call(s, path), "shutting-down", path)
	}
}

func TestSegmentsHaveMetricsByName(t *testing.T) {
	s := newServer(t, Config{Segments: begunSegments(t)})
	for path, times := range map[string]int{ordersPath: 3, ordersPath + "?n=7": 1, segmentsPath + "a": 1, segmentsPath + "b": 1} {
		for range times {
			call(s, path)
		}
	}
	poll.Until(t, "the second range", func() bool { return s.cfg.Segments.All()[0].Stats().Ranges == 2 })
	wantMetrics(t, s,
		`uidring_http_requests_total{code="200",route="/v1/segments/{name}"} 4`,
		`uidring_http_requests_total{code="404",route="/v1/segments/{name}"} 2`,
		`uidring_segment_issued_ids_total{segment="orders"} 11`,
		`uidring_segment_issued_ids_total{segment="unused"} 0`,
		`uidring_segment_remaining_ids{segment="orders"} 1989`,
		`uidring_segment_failed_sources{segment="orders"} 0`,
		`uidring_segment_fetches_total{segment="orders"} 2`,
		`uidring_segment_fetch_failures_total{segment="orders"} 0`,
	)
}
