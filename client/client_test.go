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
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	if n.asked == nil {
		n.asked = make(map[string][]time.Time)
	}
	n.asked[r.Host] = append(n.asked[r.Host], time.Now())
	answer := n.answer[r.Host]
	var count int64
	_, err := fmt.Sscanf(r.URL.RawQuery, "form=ranges&n=%d", &count)
	first := n.next + 1
	n.next += count
	n.mu.Unlock()
	if _, repeats := r.Header["Idempotency-Key"]; r.Method != http.MethodPost || !repeats { // see fetch
		return reply(405, r.Method), nil
	}
	if answer != nil {
		return answer(r)
	}
	if err != nil {
		return reply(400, err.Error()), nil
	}
	half := count / 2
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

func reply(status int, body string, headers ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
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

// in runs a test in a bubble, with a client of servers a, b and c whose batches have 100 IDs.
func in(t *testing.T, servers string, cfg client.Config, a answers, test func(t *testing.T, c *client.Client, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{answer: a}
		for _, host := range servers {
			cfg.Servers = append(cfg.Servers, "http://"+string(host))
		}
		cfg.Batch, cfg.Transport = 100, n
		c, err := client.New(cfg)
		testkit.Close(t, c, err)
		test(t, c, n)
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
	in(t, "ab", client.Config{}, answers{"a": frozen}, func(t *testing.T, c *client.Client, n *network) {
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
	in(t, "abc", client.Config{}, answers{}, func(t *testing.T, c *client.Client, n *network) {
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
	in(t, "ab", client.Config{}, answers{"a": refused, "b": refused}, func(t *testing.T, c *client.Client, n *network) {
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
		n.set("b", nil)
		began := time.Now()
		if _, err := c.NextContext(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v, want an ID within a second", err, time.Since(began))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	limited := func(*http.Request) (*http.Response, error) { return reply(429, "", "Retry-After", "20"), nil }
	in(t, "a", client.Config{}, answers{"a": limited}, func(t *testing.T, _ *client.Client, n *network) {
		time.Sleep(50 * time.Second)
		asked := n.times("a")
		if len(asked) != 3 || asked[1].Sub(asked[0]) != 20*time.Second || asked[2].Sub(asked[1]) != 20*time.Second {
			t.Errorf("requests at %v, want the pause of 20 s that the server asks for", asked)
		}
	})
}

func TestMaxAge(t *testing.T) {
	const took = 50 * time.Millisecond // a request
	for _, row := range []struct {
		maxAge time.Duration
		server string // Uidring-Max-Age; "": absent
		idle   time.Duration
		want   int64 // the second ID: of the same request, or of a later one
	}{
		{0, "", time.Minute - took, 2},
		{0, "", time.Minute - took + 1, 101},
		{time.Hour, "", time.Hour - took, 2},
		{0, "60", time.Minute - took, 2},
		{0, "1", time.Second - took, 2},
		{0, "1", time.Second - took + 1, 101},
		{time.Hour, "1", time.Second - took + 1, 101},
		{time.Second, "60", time.Second - took + 1, 101},
	} {
		first := int64(-99)
		answer := func(*http.Request) (*http.Response, error) {
			time.Sleep(took)
			first += 100
			var headers []string
			if row.server != "" {
				headers = []string{"Uidring-Max-Age", row.server}
			}
			return reply(200, fmt.Sprintf(`{"ranges":[{"first":"%d","count":100}]}`, first), headers...), nil
		}
		in(t, "a", client.Config{MaxAge: row.maxAge}, answers{"a": answer}, func(t *testing.T, c *client.Client, n *network) {
			for i, want := range []int64{1, row.want} {
				if id, err := c.NextContext(t.Context()); id != want || err != nil {
					t.Errorf("MaxAge %v, of the server %s, after %v: %d, %v; want %d", row.maxAge, row.server, row.idle, id, err, want)
				}
				if i == 0 {
					time.Sleep(row.idle)
				}
			}
		})
	}
}

// Servers may have other bounds, and slow ones answer late: the IDs of a request that was sent
// before others become too old before them.
func TestMaxAgeOfEachRequest(t *testing.T) {
	in(t, "ab", client.Config{RequestTimeout: 10 * time.Second}, answers{}, func(t *testing.T, c *client.Client, n *network) {
		synctest.Wait() // two batches, one of each server
		short := func(*http.Request) (*http.Response, error) {
			return reply(200, `{"ranges":[{"first":"5001","count":100}]}`, "Uidring-Max-Age", "3"), nil
		}
		n.set("a", short)
		n.set("b", short)
		var seen idset.Set
		for range 150 {
			id, err := c.NextContext(t.Context())
			testkit.Must(t, err)
			seen.Once(t, id)
		}
		synctest.Wait() // 50 IDs that last a minute, then 100 that last 3 s
		n.set("a", frozen)
		n.set("b", frozen)
		time.Sleep(3*time.Second + 1)
		for range 50 {
			id, err := c.Next()
			testkit.Must(t, err)
			seen.Once(t, id)
		}
		if id, err := c.Next(); err != client.ErrEmpty {
			t.Errorf("%d, %v, want ErrEmpty: its IDs are too old", id, err)
		}
	})
}

func TestIdleClientSendsNothing(t *testing.T) {
	in(t, "ab", client.Config{}, answers{"a": refused}, func(t *testing.T, c *client.Client, n *network) {
		if _, err := c.NextContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		before := len(n.times("a")) + len(n.times("b"))
		time.Sleep(time.Hour)
		if after := len(n.times("a")) + len(n.times("b")); after != before {
			t.Errorf("%d requests while no ID was drawn", after-before)
		}
	})
}

func TestClose(t *testing.T) {
	in(t, "ab", client.Config{}, answers{"a": frozen, "b": frozen}, func(t *testing.T, c *client.Client, _ *network) {
		if _, err := c.Next(); err != client.ErrEmpty {
			t.Errorf("Next: %v, want ErrEmpty", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel) // requests have timed out by then
		if _, err := c.NextContext(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("NextContext: %v, want Canceled, and no error of another context", err)
		}
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := c.NextContext(t.Context()); err != client.ErrClosed {
					t.Errorf("a call that waits: %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		group.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("Close took %v, want no wait for frozen servers", took)
		}
		if _, err := c.Next(); err != client.ErrClosed {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	})
}

func TestNextFromManyGoroutines(t *testing.T) {
	in(t, "abc", client.Config{}, nil, func(t *testing.T, c *client.Client, n *network) {
		var seen idset.Set
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 2_500 {
					id, err := c.NextContext(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					seen.Once(t, id)
				}
			})
		}
		group.Wait()
		synctest.Wait()
		if seen.Len() != 20_000 || n.next > 20_000+600 {
			t.Errorf("%d IDs of %d fetched, want 20,000 and up to 600 in memory", seen.Len(), n.next)
		}
	})
}

func TestAnswersWithoutIDs(t *testing.T) {
	body := func(status int, text string) answer {
		return func(*http.Request) (*http.Response, error) { return reply(status, text), nil }
	}
	with := func(header string, values ...string) answer {
		return func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			a := reply(200, fmt.Sprintf(`{"ranges":[{"first":"%d","count":100}]}`, time.Now().UnixMilli())) // no repeated one
			a.Header[header] = values
			return a, nil
		}
	}
	late := func(r *http.Request) (*http.Response, error) {
		time.Sleep(1500*time.Millisecond - time.Millisecond)
		return with("Uidring-Max-Age", "1")(r)
	}
	const problem = `{"type":"https://example.com/#unauthorized","title":"Unauthorized","status":200,"detail":"Send a token."}`
	for _, row := range []struct {
		name string
		a, b answer
		want string
	}{
		{"both reject", body(401, problem), body(401, problem), "client: http://_: status 401: Unauthorized: Send a token."},
		{"without a problem", body(404, "nginx"), body(404, "nginx"), "client: http://_: status 404: Not Found"},
		{"a redirect", body(302, ""), body(302, ""), "client: http://_: status 302: Found"},
		{"one rejects", body(401, problem), refused, "status 401: Unauthorized: Send a token."},
		{"5xx", body(503, ""), refused, "status 503: Service Unavailable"},
		{"429", body(429, ""), body(401, problem), "status 429: Too Many Requests"},
		{"no JSON", body(200, "176636547297255431\n"), refused, "invalid answer: json:"},
		{"too few", body(200, `{"ranges":[{"first":"5","count":99}]}`), refused, "invalid answer: 99 IDs, want 100"},
		{"too many", body(200, `{"ranges":[{"first":"5","count":99},{"first":"500","count":2}]}`), refused, "invalid answer: a range of 2 IDs from 500"},
		{"none", body(200, `{"ranges":[]}`), refused, "invalid answer: 0 IDs, want 100"},
		{"negative", body(200, `{"ranges":[{"first":"-5","count":100}]}`), refused, "invalid answer: a range of 100 IDs from -5"},
		{"twice", body(200, `{"ranges":[{"first":"5","count":50},{"first":"54","count":50}]}`), refused, `invalid answer: a range of 50 IDs from 54, allowed: above 54, the last ID of stream "" from this server`},
		{"no name of a stream", with("Uidring-Stream", "0 1"), refused, `invalid answer: Uidring-Stream "0 1", allowed: 1 to 64 letters, digits, dots, underscores and hyphens`},
		{"two streams", with("Uidring-Stream", "0-1", "0-2"), refused, `invalid answer: Uidring-Stream "0-1, 0-2", allowed`},
		{"backwards", body(200, `{"ranges":[{"first":"5","count":-1}]}`), refused, "invalid answer: a range of -1 IDs from 5"},
		{"a late answer", late, refused, "an answer after 1.5s, with IDs that may be kept for 1s"},
		{"no time to keep IDs", with("Uidring-Max-Age", "0"), refused, "with IDs that may be kept for 0s"},
		{"an age of no number", with("Uidring-Max-Age", "1m"), refused, `invalid answer: Uidring-Max-Age "1m", allowed: whole seconds`},
		{"a negative age", with("Uidring-Max-Age", "-1"), refused, `invalid answer: Uidring-Max-Age "-1", allowed: whole seconds`},
		{"an empty age", with("Uidring-Max-Age", ""), refused, `invalid answer: Uidring-Max-Age "", allowed: whole seconds`},
		{"two ages", with("Uidring-Max-Age", "60", "1"), refused, `invalid answer: Uidring-Max-Age "60, 1", allowed: whole seconds`},
		{"an endless age", with("Uidring-Max-Age", "9999999999"), refused, `invalid answer: Uidring-Max-Age "9999999999", allowed: whole seconds`},
		{"beyond 63 bits", body(200, `{"ranges":[{"first":"9223372036854775709","count":100}]}`), refused, "invalid answer: a range of 100 IDs from"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, "ab", client.Config{}, answers{"a": row.a, "b": row.b}, func(t *testing.T, c *client.Client, _ *network) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := c.NextContext(ctx)
				p, typed := err.(*client.ProblemError)
				atOnce := strings.HasPrefix(row.want, "client:") // since all servers reject the request
				text := strings.NewReplacer("http://a:", "http://_:", "http://b:", "http://_:").Replace(fmt.Sprint(err))
				if !strings.Contains(text, row.want) || typed != atOnce || atOnce != (ctx.Err() == nil) {
					t.Errorf("%s\nwant %s, at once: %v", text, row.want, atOnce)
				}
				if typed && p.Status == 401 && p.Type != "https://example.com/#unauthorized" {
					t.Errorf("type %s", p.Type)
				}
			})
		})
	}
}

// The server sends a list of answers, and then repeats the last one.
func TestRepeatedAnswers(t *testing.T) {
	type sent struct {
		stream string
		first  int64
	}
	var many []sent // more streams than a client knows
	for i := range int64(1001) {
		many = append(many, sent{fmt.Sprint("0-", i), 1})
	}
	for _, row := range []struct {
		name          string
		answers       []sent
		refused, last int // the index of an answer that is refused, 0: none; the last ID that it repeats
	}{
		{"at once", []sent{{"0-1", 1}}, 0, 100},
		{"in part", []sent{{"0-1", 1}, {"0-1", 100}, {"0-1", 101}}, 1, 200},
		{"without a stream", []sent{{"", 1}, {"", 1}, {"", 101}}, 1, 200},
		{"after another worker", []sent{{"0-1", 1001}, {"0-2", 1}, {"0-1", 1001}, {"0-2", 101}}, 2, 200},
		{"by turns", []sent{{"0-1", 1001}, {"0-2", 1}, {"0-1", 1101}, {"0-2", 101}}, 0, 200},
		{"too long ago", append(many, many[0]), 0, 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked := 0
			answer := func(*http.Request) (*http.Response, error) {
				a := row.answers[min(asked, len(row.answers)-1)]
				asked++
				return reply(200, fmt.Sprintf(`{"ranges":[{"first":"%d","count":40},{"first":"%d","count":60}]}`, a.first, a.first+40), "Uidring-Stream", a.stream), nil
			}
			in(t, "a", client.Config{}, answers{"a": answer}, func(t *testing.T, c *client.Client, _ *network) {
				for i, a := range row.answers {
					for id := a.first; id < a.first+100 && (i != row.refused || i == 0); id++ {
						if got, err := c.NextContext(t.Context()); got != id || err != nil {
							t.Fatalf("%d, %v; want %d of answer %d", got, err, id, i)
						}
					}
				}
				a := row.answers[len(row.answers)-1]
				want := fmt.Sprintf("invalid answer: a range of 40 IDs from %d, allowed: above %d, the last ID of stream %q from this server", a.first, row.last, a.stream)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if id, err := c.NextContext(ctx); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%d, %v; want %s", id, err, want)
				}
			})
		})
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, row := range []struct {
		cfg  client.Config
		want []string
	}{
		{client.Config{}, []string{"Servers is empty"}},
		{client.Config{Servers: []string{"http://a", "localhost:8080", "http://u:secret@a", "http://a?x=1", "ftp://a"}, Batch: 100_001, RequestTimeout: -1, MaxAge: -1, Token: "secret\n", Segment: "a/b"},
			[]string{"Servers[1]", "Servers[2]", "Servers[3]", "Servers[4]", "Token has white space", `Segment "a/b"`, "Batch 100001, allowed: 0 (1,000) to 100000", "RequestTimeout -1ns", "MaxAge -1ns"}},
	} {
		_, err := client.New(row.cfg)
		if !errors.Is(err, client.ErrInvalidConfig) || !errors.Is(row.cfg.Validate(), client.ErrInvalidConfig) {
			t.Errorf("New: %v, want ErrInvalidConfig, and the same of Validate", err)
		}
		mistakes := strings.Split(fmt.Sprint(err), "\n")
		if len(mistakes) != len(row.want) || strings.Contains(fmt.Sprint(err), "secret") {
			t.Fatalf("%v\nwant %d mistakes", err, len(row.want))
		}
		for i, want := range row.want {
			if !strings.Contains(mistakes[i], want) {
				t.Errorf("%s, want %s", mistakes[i], want)
			}
		}
	}
}
