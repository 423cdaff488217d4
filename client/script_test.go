package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. A paragraph is a [scripts.Story] with these commands:
//
//	on a well / hang         the answers of server a to the next requests
//	client ab MaxAge=1h      makes a client of servers a and b, whose batches have 100 IDs
//	next 10s                 an ID within a time, or the error
//	draw 150                 so many IDs, as ranges
//	asked a                  the times of all requests to a, from the first on
//	log                      the log
//	many                     more streams of a than a client knows, and then the first one again
//	close
//	check Servers=a,b MaxAge=1h    the mistakes that New and Validate find in a Config
//
// An answer is well, ids FIRST, or a status with a body. Headers follow as NAME=VALUE. In an
// answer, + stands for a space.
func TestScripts(t *testing.T) { scripts.Stories(t, 1, newScript) }

// A script is the world of a paragraph.
type script struct {
	*scripts.Story
	net    *network
	client *client.Client
}

func newScript(s *scripts.Story) {
	x := &script{Story: s, net: new(network)}
	x.net.answer = answers{"a": x.answer, "b": x.answer}
	s.Do, s.Failures = x.do, map[string]error{"refused": errRefused}
	s.Precision = 24 * time.Hour // next and close print their times
}

func (x *script) do(words testkit.Words) (result string, err error) {
	switch words[0] {
	case "client":
		var cfg client.Config
		words.Set("MaxAge", &cfg.MaxAge)
		x.client = x.net.client(x.T, words[1], cfg)
	case "next":
		x.next(words.Duration(1))
	case "draw":
		x.draw(words.Number(1))
	case "asked":
		times := x.net.times(words[1])
		for _, at := range times {
			x.Print("  %v", at.Sub(times[0]))
		}
	case "log":
		x.Events(x.net.log.Read())
	case "close":
		began := time.Now()
		err := x.client.Close()
		took := time.Since(began)
		synctest.Wait() // for callers whose calls end
		x.Print("  after %v", took)
		return "", err
	case "check":
		x.check(words)
	case "many":
		var list []string
		for i := range 1001 {
			list = append(list, fmt.Sprintf("ids 1 Uidring-Stream=0-%d /", i))
		}
		x.Command(strings.Fields("on a " + strings.Join(list, " ") + " ids 1 Uidring-Stream=0-0"))
	default:
		x.T.Errorf("unknown command %q", words)
	}
	return "", nil
}

// answer answers a request to a server, by default well.
func (x *script) answer(r *http.Request) (answer *http.Response, err error) {
	err = x.Answer(r.Context(), r.Host, func(words testkit.Words) bool {
		switch words.Arg(0) {
		case "sleep":
			return false
		case "well":
			answer, _ = x.net.well(r)
		case "ids":
			first := words.Number(1)
			answer = reply(200, fmt.Sprintf(`{"ranges":[{"first":"%d","count":40},{"first":"%d","count":60}]}`, first, first+40))
		default:
			answer = reply(int(words.Number(0)), strings.ReplaceAll(words.Arg(1), "+", " "))
		}
		for _, word := range words[1:] {
			if name, value, ok := strings.Cut(word, "="); ok {
				answer.Header.Add(name, strings.ReplaceAll(value, "+", " "))
			}
		}
		return true
	})
	if answer == nil && err == nil {
		return x.net.well(r)
	}
	return answer, err
}

// next prints an ID or an error. Clients begin with any of their servers: an error of b looks like
// one of a, and the errors of several servers are sorted.
func (x *script) next(within time.Duration) {
	began := time.Now()
	ctx, cancel := x.Context(testkit.Words{fmt.Sprint("cancel=", within)})
	defer cancel()
	id, err := x.client.NextContext(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) != errors.Is(err, client.ErrEmpty) {
		x.T.Errorf("NextContext: %v, want Canceled if there was no ID in time, and no error of another context", err)
	}
	if err == nil {
		x.Print("  %d after %v", id, time.Since(began))
		return
	}
	lines := strings.Split(strings.ReplaceAll(err.Error(), "http://b", "http://a"), "; ")
	slices.Sort(lines[1:])
	x.Print("  after %v %T", time.Since(began), err)
	if wait, passes := uidring.RetryAfter(err); passes && wait != time.Second {
		x.Print("  again after %v", wait)
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " json: ")          // whose words change
		line, _, _ = strings.Cut(line, " (Client.Timeout") // which net/http does not always add
		x.Print("  %s", line)
	}
	if p, ok := err.(*client.ProblemError); ok && p.Type != "" {
		x.Print("  %s", p.Type)
	}
}

// draw prints the ranges of n IDs, and equal ranges once.
func (x *script) draw(n int64) {
	ctx, cancel := context.WithTimeout(x.T.Context(), time.Minute)
	defer cancel()
	ids := make([]int64, n)
	_, err := x.client.FillContext(ctx, ids)
	testkit.Must(x.T, err)
	var ranges []string
	first := ids[0]
	for i, id := range ids {
		if i+1 == len(ids) || ids[i+1] != id+1 {
			ranges = append(ranges, fmt.Sprintf("%d-%d", first, id))
			first = ids[min(i+1, len(ids)-1)]
		}
	}
	x.Events(ranges)
}

func (x *script) check(words testkit.Words) {
	var cfg client.Config
	var servers string
	for name, to := range map[string]any{
		"Servers": &servers, "Token": &cfg.Token, "Segment": &cfg.Segment, "Batch": &cfg.Batch, "RequestTimeout": &cfg.RequestTimeout, "MaxAge": &cfg.MaxAge,
	} {
		words.Set(name, to)
	}
	cfg.Token = strings.ReplaceAll(cfg.Token, "+", " ")
	cfg.Servers = strings.FieldsFunc(servers, func(r rune) bool { return r == ',' })
	_, err := client.New(cfg)
	if again := cfg.Validate(); !errors.Is(err, client.ErrInvalidConfig) || again == nil || again.Error() != err.Error() {
		x.T.Errorf("New: %v, want ErrInvalidConfig, and the same of Validate: %v", err, again)
	}
	x.Print("  %s", strings.ReplaceAll(fmt.Sprint(err), "\n", "\n  "))
}
