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

// wantReady asks /readyz; name is the problem, or empty.
func wantReady(t *testing.T, s *Server, name string) {
	t.Helper()
	if got := s.Unready(); got != name {
		t.Errorf("Unready returns %q, want %q", got, name)
	}
	w := call(s, "/readyz")
	if name != "" {
		wantProblem(t, w, name, "/readyz")
	} else if w.Code != 200 || w.Body.String() != "ready\n" {
		t.Errorf("%d, %s; want ready", w.Code, w.Body)
	}
}

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
		for range 1000 {
			w := call(s, "/v1/ids?n=10000")
			if wantProblem(t, w, "too-far-ahead", "above the bound"); w.Header().Get("Retry-After") != "1" {
				t.Fatalf("above the bound: Retry-After %q", w.Header().Get("Retry-After"))
			}
		}
		time.Sleep(200 * time.Millisecond) // beyond the last reading of the state
		for range most % 10_000 / 100 {
			if status := draw(100); status != 200 {
				t.Fatalf("a small request after refused ones: %d", status)
			}
		}
		for draw(1) == 200 {
		}
		wantReady(t, s, "too-far-ahead") // not even one ID
		time.Sleep(2 * time.Second)
		wantReady(t, s, "")
		for _, want := range []string{"too-far-ahead", ""} {
			if status := draw(1); status != 200 || s.Refusal() != want {
				t.Errorf("%d, refusal %q, want 200, %q", status, s.Refusal(), want)
			}
			time.Sleep(8 * time.Second)
		}
		for range 100 { // of these 1000 IDs, the clock has made room for each second
			time.Sleep(time.Second)
			if status := draw(second); status != 200 {
				t.Fatalf("at the pace of the clock: %d", status)
			}
		}
		if stats := g.Stats(); stats.Ahead > bound || stats.RejectedTakes != 0 {
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
		const most = 30 * 8192
		g := newGenerator(t, cached.Config{MaxAhead: time.Minute})
		if n, err := g.Fill(make([]int64, most)); n != most || err != nil {
			t.Fatal(n, err)
		}
		s := newServer(t, Config{Generator: g, MaxAhead: time.Minute, IDsPerSecond: 8192})
		drawn := 0
		for call(s, "/v1/ids?n=1000").Code == 200 {
			drawn += 1000
		}
		if rejected := g.Stats().RejectedTakes; drawn == 0 || drawn > most || rejected != 0 {
			t.Errorf("%d IDs, want 1 to %d; %d takes were rejected by the generator", drawn, most, rejected)
		}
		late := newServer(t, Config{Generator: g, MaxAhead: 10 * time.Second, IDsPerSecond: 8192}) // the lead is 20 s and more
		time.Sleep(10 * time.Second)
		wantReady(t, late, "too-far-ahead")
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestEpisodeEndsWithAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e episode
		for _, step := range []struct {
			pause time.Duration
			want  bool
		}{{0, true}, {0, false}, {time.Minute, false}, {time.Minute, false}, {time.Minute + 1, true}, {time.Second, false}} {
			time.Sleep(step.pause)
			if got := e.begins(); got != step.want {
				t.Errorf("after %v: %v, want %v", step.pause, got, step.want)
			}
		}
	})
}
