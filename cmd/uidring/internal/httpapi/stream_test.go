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
		s := newServer(t, Config{Tokens: func() Tokens { return *tokens.Load() }, Page: page})
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
