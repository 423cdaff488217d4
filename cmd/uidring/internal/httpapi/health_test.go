package httpapi

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/poll"
)

// wantReady asks /readyz; name is the problem, or empty.
func wantReady(t *testing.T, s *Server, name string) {
	t.Helper()
	if got := s.Unready(); got != name {
		t.Errorf("Unready returns %q, want %q", got, name)
	}
	w := call(s, "/readyz")
	if name == "" {
		if w.Code != 200 || w.Body.String() != "ready\n" {
			t.Errorf("%d, %s; want ready", w.Code, w.Body)
		}
		return
	}
	wantProblem(t, w.Result(), w.Body.String(), name)
}

func TestReadyWhileIDsCanBeDrawn(t *testing.T) {
	s := newServer(t, Config{})
	wantReady(t, s, "")
	s.Drain()
	wantReady(t, s, "shutting-down")
	for _, path := range []string{"/healthz", "/v1/id"} {
		if w := call(s, path); w.Code != 200 {
			t.Errorf("%s while draining: %d, want 200", path, w.Code)
		}
	}
	for name, g := range map[string]*cached.Generator{"shutting-down": stopped(t), "time-exhausted": ended(t)} {
		s := newServer(t, Config{Generator: g})
		if w := call(s, "/v1/id"); w.Code < 500 {
			t.Errorf("%s: /v1/id: %d, want an error", name, w.Code)
		}
		wantReady(t, s, name)
	}
}

// TestReadyAgainWhenTheStoreIsBack has no request that would tell: a load balancer sends none to a
// server that is not ready.
func TestReadyAgainWhenTheStoreIsBack(t *testing.T) {
	g, restore := cutOff(t)
	s := newServer(t, Config{Generator: g})
	wantReady(t, s, "no-lease")
	if w := call(s, "/healthz"); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("/healthz: %d, %s; want ok: a restart would not help", w.Code, w.Body)
	}
	if w := call(s, "/v1/id"); w.Code != 503 {
		t.Errorf("/v1/id: %d, want 503", w.Code)
	}
	restore()
	poll.Until(t, "ready", func() bool { return call(s, "/readyz").Code == 200 })
	if got := s.Refusal(); got != noLease.name {
		t.Errorf("the last refusal is %q, want %q: without it the test shows nothing", got, noLease.name)
	}
	if w := call(s, "/v1/id"); w.Code != 200 {
		t.Errorf("/v1/id once ready: %d, want 200", w.Code)
	}
	if got := s.Refusal(); got != "" {
		t.Errorf("%q is remembered after a success", got)
	}
}

func TestReadinessIsReadTenTimesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r readiness
		looks := 0
		usable := func() *problem {
			looks++
			if looks%2 == 0 {
				return noLease
			}
			return nil
		}
		for i := range 1000 { // every 10 ms
			if p := r.look(usable); (p != nil) != (i/10%2 == 1) {
				t.Fatalf("after %d ms: %v", 10*i, p)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if looks != 100 {
			t.Errorf("%d looks in 10 s, want 100", looks)
		}
	})
}
