package httpapi

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
)

// A server with a bound of a minute gives out the IDs of that minute, and from then on the IDs of
// the layout. It refuses large requests without spending IDs, so small ones get theirs.
func TestIDTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const second, bound = 8192, time.Minute
		var log bytes.Buffer
		g := newGenerator(t, cached.Config{MaxAhead: bound})
		s := newServer(t, Config{Settings: Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Generator: g, MaxAhead: bound, IDsPerSecond: second})
		draw := func(n int) (status int) { return call(s, fmt.Sprint("/v1/ids?n=", n)).Code }
		most := int(bound.Seconds()) * second * 95 / 100
		wantReady(t, s, "")
		for i := range most / 10_000 {
			if status := draw(10_000); status != 200 {
				t.Fatalf("request %d within the bound: %d", i, status)
			}
		}
		left := most % 10_000
		for range 1000 {
			w := call(s, "/v1/ids?n=10000")
			if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "too-far-ahead") {
				t.Fatalf("above the bound: %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
			}
		}
		time.Sleep(200 * time.Millisecond) // beyond the last reading of the state
		for range left / 100 {
			if status := draw(100); status != 200 {
				t.Fatalf("a small request after refused ones: %d", status)
			}
		}
		for draw(1) == 200 {
		}
		wantReady(t, s, "too-far-ahead") // not even one ID
		time.Sleep(2 * time.Second)
		wantReady(t, s, "")
		for range 100 { // of these 1000 IDs, the clock has made room for each second
			time.Sleep(time.Second)
			if status := draw(second); status != 200 {
				t.Fatalf("at the pace of the clock: %d", status)
			}
		}
		stats := g.Stats()
		if stats.Ahead > bound || stats.RejectedTakes != 0 {
			t.Errorf("ahead %v, %d takes rejected by the generator; want at most %v, 0", stats.Ahead, stats.RejectedTakes, bound)
		}
		if n := strings.Count(log.String(), "requests are refused"); n != 1 {
			t.Errorf("%d records of 1000 refusals, want 1:\n%s", n, &log)
		}
		if err := g.Close(); err != nil { // in the bubble
			t.Error(err)
		}
	})
}

// A generator whose worker ID begins ahead of the clock has less of the bound left.
func TestIDTimeThatBeginsAheadCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGenerator(t, cached.Config{MaxAhead: time.Minute})
		for range 30 * 8192 {
			if _, err := g.Next(); err != nil {
				t.Fatal(err)
			}
		}
		s := newServer(t, Config{Generator: g, MaxAhead: time.Minute, IDsPerSecond: 8192})
		drawn := 0
		for call(s, "/v1/ids?n=1000").Code == 200 {
			drawn += 1000
		}
		if most := 30 * 8192; drawn == 0 || drawn > most {
			t.Errorf("%d IDs, want 1 to %d", drawn, most)
		}
		if n := g.Stats().RejectedTakes; n != 0 {
			t.Errorf("%d takes were rejected by the generator", n)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
