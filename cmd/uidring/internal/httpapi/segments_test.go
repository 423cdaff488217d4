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
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

const ordersPath = segmentsPath + "orders"

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
	if id, _, err := set.All()[0].ReserveContext(t.Context(), 1); err != nil || id != 1 {
		t.Fatalf("the first ID is %d, %v; want 1", id, err)
	}
	return set
}

// usedUp returns a folder whose counter orders has reached its end.
func usedUp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, segment.Recover(t.Context(), folder(dir), "orders", math.MaxInt64-10))
	return dir
}

// An error names no folder, leaves the service ready, and ends when the store is there.
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
	testkit.Must(t, os.Mkdir(dir, 0o700))
	testkit.Until(t, "an ID", func() bool { return call(s, ordersPath).Code == 200 })
	s.cfg.Segments.Close()
	for _, path := range []string{ordersPath, segmentsPath + "unused"} { // one begun, one without a request before
		wantProblem(t, call(s, path), "shutting-down", path)
	}
}
