package httpapi

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The stream ends within a second after its token is gone. Viewers beyond the limit are refused,
// and take no place from others.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens atomic.Pointer[Tokens]
		set := func(file string) {
			parsed := newTokens(t, file)
			tokens.Store(&parsed)
		}
		set("alice " + alice + "\nbob " + bob)
		s := newServer(t, Config{Tokens: func() Tokens { return *tokens.Load() }})
		servePage(s, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var ended atomic.Int64
		view := func() {
			call(s, "/events", "Authorization", "Bearer "+alice)
			ended.Add(1)
		}
		for range mostViewers {
			go view()
		}
		time.Sleep(time.Minute)
		wantProblem(t, call(s, "/events", "Authorization", "Bearer "+alice), "overloaded", "one more viewer")
		wantReady(t, s, "")
		set("alice " + alice)
		time.Sleep(time.Minute)
		if n := ended.Load(); n != 0 {
			t.Errorf("%d streams ended while their token was good", n)
		}
		set("bob " + bob)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := ended.Load(); n != mostViewers {
			t.Errorf("%d streams ended a second after their token was gone, want %d", n, mostViewers)
		}
	})
}
