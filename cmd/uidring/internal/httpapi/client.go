package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// A client is a name of the tokens with its limiter and metrics, or all clients without tokens.
type client struct {
	name    string             // "" without tokens
	limiter *rate.Limiter      // nil: no limit
	ids     prometheus.Counter // nil: not counted
}

// Clients without a valid token. Their names are for metrics and the log, and no names of tokens.
var (
	noToken      = &client{name: "(missing)"}
	unknownToken = &client{name: "(unknown)"}
)

// clients finds the client of each request.
type clients struct {
	tokens   func() Tokens
	rate     float64 // IDs per second; 0: no limit
	burst    int
	ids      *prometheus.CounterVec // by token; nil: not counted
	everyone *client                // without tokens
	byName   sync.Map               // of *client: a name keeps its limiter when the tokens change
}

func newClients(tokens func() Tokens, rate float64, burst int, ids *prometheus.CounterVec) *clients {
	if tokens == nil {
		tokens = func() Tokens { return Tokens{} }
	}
	c := &clients{tokens: tokens, rate: rate, burst: burst, ids: ids}
	c.everyone = &client{limiter: c.newLimiter()}
	return c
}

// find returns the client of a request; it is noToken or unknownToken if ok is false.
func (c *clients) find(r *http.Request) (_ *client, ok bool) {
	tokens := c.tokens()
	if tokens.Len() == 0 {
		return c.everyone, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimLeft(secret, " ")
	if secret == "" || !strings.EqualFold(scheme, "Bearer") {
		return noToken, false
	}
	name, ok := tokens.find(secret)
	if !ok {
		return unknownToken, false
	}
	known, ok := c.byName.Load(name)
	if !ok {
		known, _ = c.byName.LoadOrStore(name, c.newClient(name))
	}
	return known.(*client), true
}

func (c *clients) newClient(name string) *client {
	one := &client{name: name, limiter: c.newLimiter()}
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

// spend takes n IDs, at most the burst, from the client's limit. It returns nil if the limit allows
// them.
func (c *client) spend(n int, now time.Time) *problem {
	wait := take(c.limiter, n, now)
	if wait == 0 {
		return nil
	}
	allowed := strconv.FormatFloat(float64(c.limiter.Limit()), 'f', -1, 64)
	return tooManyIDs.because("%d may be drawn after %v; allowed are %s a second.", n, wait.Round(time.Millisecond), allowed).after(wait)
}

// take takes n, at most the burst, from a limiter, and returns 0, or it takes nothing and returns
// the time after which n may be taken. A nil limiter allows all.
func take(l *rate.Limiter, n int, now time.Time) (wait time.Duration) {
	if l == nil || l.AllowN(now, n) {
		return 0
	}
	return max(missing(l, n, now), time.Millisecond)
}

// missing returns the time until n may be taken from a limiter.
func missing(l *rate.Limiter, n int, now time.Time) time.Duration {
	seconds := (float64(n) - l.TokensAt(now)) / float64(l.Limit())
	return time.Duration(max(min(seconds, 1e9), 0) * float64(time.Second)) // a Duration ends at 9e9
}
