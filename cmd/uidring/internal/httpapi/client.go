package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// A client is a name of the tokens with its limiter and metrics, or all clients without tokens.
type client struct {
	name    string // "" without tokens
	limiter *rate.Limiter
	ids     prometheus.Counter // nil without tokens
}

// Names of clients without a valid token, for metrics and the log. They are no names of tokens.
const (
	noToken      = "(missing)"
	unknownToken = "(unknown)"
)

// clients holds a client for each current token. A name keeps its limiter when the tokens change.
type clients struct {
	tokens   func() Tokens
	rate     float64 // IDs per second; 0: no limit
	burst    int
	ids      *prometheus.CounterVec // by token; nil: not counted
	everyone client                 // without tokens

	present   atomic.Pointer[clientSet]
	replacing sync.Mutex // held while present is replaced
}

// A clientSet is immutable, except for the state of its limiters.
type clientSet struct {
	tokens  Tokens
	ofToken []client
	former  Tokens // that were removed since the start, the last mostTokens
}

func newClients(tokens func() Tokens, rate float64, burst int, ids *prometheus.CounterVec) *clients {
	c := &clients{tokens: tokens, rate: rate, burst: burst, ids: ids}
	c.everyone = client{limiter: c.newLimiter()}
	c.present.Store(&clientSet{})
	return c
}

// find returns the client of a request. ok is false if its token is unknown; the client then has
// the name of the removed token, or unknownToken or noToken.
func (c *clients) find(r *http.Request) (_ client, ok bool) {
	tokens := c.tokens()
	if tokens.Len() == 0 {
		return c.everyone, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		secret = ""
	}
	if secret = strings.TrimLeft(secret, " "); secret == "" {
		return client{name: noToken}, false
	}
	set := c.present.Load()
	if !set.tokens.same(tokens) {
		set = c.replace(tokens)
	}
	if i := tokens.find(secret); i >= 0 {
		return set.ofToken[i], true
	}
	if i := set.former.find(secret); i >= 0 {
		return client{name: set.former.known[i].name}, false
	}
	return client{name: unknownToken}, false
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
	set := &clientSet{tokens: tokens, former: last.former.with(last.tokens.without(tokens)).without(tokens)}
	for _, t := range tokens.known {
		if _, ok := byName[t.name]; !ok {
			byName[t.name] = c.newClient(t.name)
		}
		set.ofToken = append(set.ofToken, byName[t.name])
	}
	c.present.Store(set)
	return set
}

func (c *clients) newClient(name string) client {
	one := client{name: name, limiter: c.newLimiter()}
	if c.ids != nil {
		one.ids = c.ids.WithLabelValues(name)
	}
	return one
}

func (c *clients) newLimiter() *rate.Limiter {
	if c.rate == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(c.rate), c.burst)
}

// drew counts n IDs that the client gets.
func (c client) drew(n int) {
	if c.ids != nil {
		c.ids.Add(float64(n))
	}
}

// spend takes n IDs, at most the burst, from the client's limit. It returns nil if the limit allows
// them.
func (c client) spend(n int) *problem {
	if c.limiter == nil {
		return nil
	}
	wait := take(c.limiter, n)
	if wait == 0 {
		return nil
	}
	allowed := strconv.FormatFloat(float64(c.limiter.Limit()), 'f', -1, 64)
	return tooManyIDs.because("%d may be drawn after %v; allowed are %s a second.", n, wait.Round(time.Millisecond), allowed).after(wait)
}
