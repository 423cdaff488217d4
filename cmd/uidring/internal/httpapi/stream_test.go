package httpapi

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreamEndsWhenItsTokenIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens atomic.Pointer[Tokens]
		set := func(file string) {
			parsed := newTokens(t, file)
			tokens.Store(&parsed)
		}
		set("alice " + alice + "\nbob " + bob)
		page := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		s := newServer(t, Config{Tokens: func() Tokens { return *tokens.Load() }, Page: pageOf(page)})
		ended := make(chan time.Time, 1)
		go func() {
			call(s, "/events", "Authorization", "Bearer "+alice)
			ended <- time.Now()
		}()
		time.Sleep(time.Minute)
		set("alice " + alice)
		time.Sleep(time.Minute)
		if len(ended) != 0 {
			t.Fatal("the stream ended while its token was good")
		}
		taken := time.Now()
		set("bob " + bob)
		if after := (<-ended).Sub(taken); after > time.Second {
			t.Errorf("the stream ended after %v, want a second at most", after)
		}
	})
}

// Viewers beyond the limit are refused, and take no place from clients.
func TestThereIsALimitOnViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		s := newServer(t, Config{Page: pageOf(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-leave }))})
		for range mostViewers {
			go call(s, "/events")
		}
		synctest.Wait()
		w := call(s, "/events")
		wantProblem(t, w.Result(), w.Body.String(), "overloaded")
		if w := call(s, "/readyz"); w.Code != http.StatusOK {
			t.Errorf("/readyz: %d, want 200", w.Code)
		}
		close(leave)
		synctest.Wait()
		if w := call(s, "/events"); w.Code != http.StatusOK {
			t.Errorf("%d when there is room again, want 200", w.Code)
		}
	})
}
