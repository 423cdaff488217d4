package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A client is the limiter of a token's name, or the common limiter of all clients without tokens.
type client struct{ limiter *rate.Limiter }

// clients holds a client for each current token. A name keeps its limiter when the tokens change.
type clients struct {
	rate     float64 // IDs per second; 0: no limit
	burst    int
	everyone client // without tokens

	present   atomic.Pointer[clientSet]
	replacing sync.Mutex // held while present is replaced
}

// A clientSet is immutable, except for the state of its limiters.
type clientSet struct {
	tokens  Tokens
	ofToken []client
}

func newClients(rate float64, burst int) *clients {
	c := &clients{rate: rate, burst: burst}
	c.everyone = c.newClient()
	c.present.Store(&clientSet{})
	return c
}

// find returns the client of a request; ok is false if its token is unknown.
func (c *clients) find(tokens Tokens, r *http.Request) (_ client, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		secret = ""
	}
	return c.ofSecret(tokens, strings.TrimLeft(secret, " "))
}

// ofSecret returns the client of a token.
func (c *clients) ofSecret(tokens Tokens, secret string) (_ client, ok bool) {
	if tokens.Len() == 0 {
		return c.everyone, true
	}
	i := tokens.find(secret)
	if i < 0 {
		return client{}, false
	}
	set := c.present.Load()
	if !set.tokens.same(tokens) {
		set = c.replace(tokens)
	}
	return set.ofToken[i], true
}

// replace creates the clients of new tokens. A name that had a token before keeps its limiter.
func (c *clients) replace(tokens Tokens) *clientSet {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	last := c.present.Load()
	if last.tokens.same(tokens) {
		return last
	}
	byName := make(map[string]client)
	for i, t := range last.tokens.known {
		byName[t.name] = last.ofToken[i]
	}
	set := &clientSet{tokens: tokens}
	for _, t := range tokens.known {
		if _, ok := byName[t.name]; !ok {
			byName[t.name] = c.newClient()
		}
		set.ofToken = append(set.ofToken, byName[t.name])
	}
	c.present.Store(set)
	return set
}

func (c *clients) newClient() client {
	if c.rate == 0 {
		return client{}
	}
	return client{rate.NewLimiter(rate.Limit(c.rate), c.burst)}
}

// spend takes n IDs, at most the burst, from the client's limit. It returns nil if the limit allows
// them.
func (c client) spend(n int) *problem {
	if c.limiter == nil {
		return nil
	}
	now := time.Now()
	if c.limiter.AllowN(now, n) {
		return nil
	}
	missing := float64(n) - c.limiter.TokensAt(now)
	seconds := min(missing/float64(c.limiter.Limit()), 1e9) // a Duration ends at 9e9
	wait := max(time.Duration(seconds*float64(time.Second)), time.Millisecond)
	allowed := strconv.FormatFloat(float64(c.limiter.Limit()), 'f', -1, 64)
	return tooManyIDs.because("%d may be drawn after %v; allowed are %s a second.", n, wait.Round(time.Millisecond), allowed).after(wait)
}
