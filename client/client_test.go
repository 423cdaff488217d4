package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A network is the servers a, b and so on, as a RoundTripper for bubbles of synctest. The tests of
// cmd/uidring have clients meet real servers.
type network struct {
	mu     sync.Mutex
	next   int64
	answer answers                // absent: well
	asked  map[string][]time.Time // by host
	log    testkit.Recorder
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	if n.asked == nil {
		n.asked = make(map[string][]time.Time)
	}
	n.asked[r.Host] = append(n.asked[r.Host], time.Now())
	answer := n.answer[r.Host]
	n.mu.Unlock()
	if _, repeats := r.Header["Idempotency-Key"]; r.Method != http.MethodPost || !repeats { // see fetch
		return reply(405, r.Method), nil
	}
	if answer == nil {
		return n.well(r)
	}
	return answer(r)
}

// well answers with the next IDs.
func (n *network) well(r *http.Request) (*http.Response, error) {
	var count int64
	if _, err := fmt.Sscanf(r.URL.RawQuery, "form=ranges&n=%d", &count); err != nil {
		return reply(400, err.Error()), nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	first, half := n.next+1, count/2
	n.next += count
	return reply(200, fmt.Sprintf(`{"ranges":[{"first":"%d","count":%d},{"first":"%d","count":%d}]}`, first, half, first+half, count-half)), nil
}

func (n *network) set(host string, answer answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer[host] = answer
}

func (n *network) times(host string) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked[host])
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(body))}
}

func frozen(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

var errRefused = errors.New("connection refused")

func refused(*http.Request) (*http.Response, error) { return nil, errRefused }

type (
	answer  = func(*http.Request) (*http.Response, error)
	answers = map[string]answer // by host
)

// client makes a client of servers such as abc, whose batches have 100 IDs.
func (n *network) client(t *testing.T, servers string, cfg client.Config) *client.Client {
	t.Helper()
	for _, host := range servers {
		cfg.Servers = append(cfg.Servers, "http://"+string(host))
	}
	cfg.Batch, cfg.Transport = 100, n
	cfg.Logger = n.log.TextLogger()
	c, err := client.New(cfg)
	return testkit.Close(t, c, err)
}

// in runs a test in a bubble, with a client.
func in(t *testing.T, servers string, a answers, test func(t *testing.T, c *client.Client, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{answer: a}
		test(t, n.client(t, servers, client.Config{}), n)
	})
}

// draw draws IDs at a rate of 200 a second, and returns the longest wait.
func draw(t *testing.T, c *client.Client, seen *idset.Set, long time.Duration) (wait time.Duration) {
	t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		began := time.Now()
		id, err := c.NextContext(t.Context())
		testkit.Must(t, err)
		seen.Once(t, id)
		wait = max(wait, time.Since(began))
	}
	return wait
}

// TestNextBesideAFrozenServer freezes a server from the start, thaws it, and freezes it again.
func TestNextBesideAFrozenServer(t *testing.T) {
	in(t, "ab", answers{"a": frozen}, func(t *testing.T, c *client.Client, n *network) {
		var seen idset.Set
		if wait := draw(t, c, &seen, 10*time.Minute); wait > 0 {
			t.Errorf("a call waited for %v while a server was well", wait)
		}
		asked, pause := n.times("a"), 500*time.Millisecond
		for i := range asked[1:] {
			// A request is due after 3/4 of the pause or more, and sent when a batch is used up.
			gap := asked[i+1].Sub(asked[i]) - 2*time.Second
			if gap < pause*3/4 || gap > pause+time.Second {
				t.Errorf("pause %d: %v, want %v", i+1, gap, pause)
			}
			pause = min(2*pause, 30*time.Second)
		}
		if len(asked) < 20 || len(asked) > 35 {
			t.Errorf("%d requests to the frozen server in 10 minutes, want one in 20 to 30 s", len(asked))
		}
		n.set("a", nil)
		draw(t, c, &seen, time.Minute)
		a, b := len(n.times("a")), len(n.times("b"))
		draw(t, c, &seen, time.Minute)
		a, b = len(n.times("a"))-a, len(n.times("b"))-b
		if a+b < 100 || a < b-2 || b < a-2 {
			t.Errorf("%d and %d requests to two servers that are well, want equal shares", a, b)
		}
		n.set("a", frozen)
		if wait := draw(t, c, &seen, time.Minute); wait > 0 {
			t.Errorf("a call waited for %v while a server was well", wait)
		}
	})
}

// TestNextWhenTwoServersFreeze draws IDs as fast as it can when two of three servers freeze.
func TestNextWhenTwoServersFreeze(t *testing.T) {
	in(t, "abc", answers{}, func(t *testing.T, c *client.Client, n *network) {
		var seen idset.Set
		synctest.Wait()
		n.set("a", frozen)
		n.set("b", frozen)
		before, began := len(n.times("a"))+len(n.times("b")), time.Now()
		for range 80 {
			ids := make([]int64, 250) // more than a batch
			n, err := c.FillContext(t.Context(), ids)
			testkit.Must(t, err)
			for _, id := range ids[:n] {
				seen.Once(t, id)
			}
		}
		if asked := len(n.times("a")) + len(n.times("b")) - before; asked != 2 {
			t.Errorf("%d requests to two frozen servers, want 1 each", asked)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("20,000 IDs took %v, want at most 100 ms for each server that froze", took)
		}
		synctest.Wait() // for the answers under way
		n.set("c", frozen)
		if n, err := c.Fill(make([]int64, 1000)); n < 1 || n > 300 || err != client.ErrEmpty || seen.Len() != 20_000 {
			t.Errorf("Fill = %d, %v, after %d IDs, want the few in memory after 20,000", n, err, seen.Len())
		}
	})
}

func TestPausesWithoutAWellServer(t *testing.T) {
	in(t, "ab", answers{"a": refused, "b": refused}, func(t *testing.T, c *client.Client, n *network) {
		cause := errors.New("cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, cause)
		defer cancel()
		_, err := c.NextContext(ctx)
		unavailable, ok := errors.AsType[*client.UnavailableError](err)
		if !ok || len(unavailable.Servers) != 2 || !errors.Is(err, errRefused) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) || !errors.Is(err, client.ErrEmpty) {
			t.Errorf("%v, want an UnavailableError with two servers, the deadline and its cause", err)
		}
		asked := n.times("a")
		for i := range asked[1:] {
			if gap := asked[i+1].Sub(asked[i]); gap < 300*time.Millisecond || gap > time.Second {
				t.Errorf("pause %d: %v, want at most 1 s", i+1, gap)
			}
		}
		if text := new(client.UnavailableError).Error(); !strings.Contains(text, "in time") {
			t.Error(text)
		}
		n.set("b", nil)
		began := time.Now()
		if _, err := c.NextContext(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v, want an ID within a second", err, time.Since(began))
		}
	})
}

func TestNextFromManyGoroutines(t *testing.T) {
	in(t, "abc", nil, func(t *testing.T, c *client.Client, n *network) {
		var seen idset.Set
		testkit.Together(8, func(int) {
			for range 2_500 {
				id, err := c.NextContext(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				seen.Once(t, id)
			}
		})
		synctest.Wait()
		if seen.Len() != 20_000 || n.next > 20_000+600 {
			t.Errorf("%d IDs of %d fetched, want 20,000 and up to 600 in memory", seen.Len(), n.next)
		}
	})
}
