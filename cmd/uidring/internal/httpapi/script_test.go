package httpapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// TestScripts runs the scripts in testdata, each in a bubble of synctest. A line behind > is a
// command, and below it the script has its output:
//
//	> server tokens segments {"Rate":1}  makes a server with fields of Config, and draws a first ID
//	> server cut-off                     the same with another generator, see generator and server
//	> GET /v1/id HEADER=VALUE...         the answer: its status, some headers and its body
//	> every GET HEADER=VALUE...          the answers of all paths, see every
//	> repeat 61 1s GET /v1/id            sends so many requests, with this pause after each
//	> view 64 HEADER=VALUE...            opens so many streams, and prints how many are under way
//	> under page 1024                    the number of requests under way to api, open or page
//	> tokens alice TOKEN bob TOKEN...    the tokens from now on
//	> drain, close, close segments       of the server, of its generator, of its segments
//	> restore                            brings back a store that the server began without
//	> state                              the results of Unready, Refusal and Traffic
//	> sleep 1s
//	> metrics PATTERN                    the metrics that a regular expression matches
//	> log                                the records since the last command log
//
// In a value, + stands for a space. TLS in place of a header sends the request over TLS, and left
// lets the client leave before. An ID is shown as its distance from the first one, such as +1, and
// the stream of the generator as W. The streams of segments are numbered. With -update, the test
// writes the output into the scripts.
func TestScripts(t *testing.T) {
	scripts.Files(t, func(t *testing.T, text string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			x := script{t: t}
			got = x.Run(text, x.do)
		})
		return got
	})
}

// A script is under way.
type script struct {
	testkit.Script
	t *testing.T
	s *Server

	tokens  atomic.Pointer[Tokens]
	log     testkit.Recorder
	restore func()
	first   int64    // an ID that was drawn when the server was made
	streams []string // that the script has seen
	viewers atomic.Int64
}

func (x *script) do(words testkit.Words) {
	x.t.Helper()
	switch args := words[1:]; words[0] {
	case "server":
		x.server(args)
	case "every":
		x.every(args[0], args[1:])
	case "repeat":
		for range words.Number(1) {
			x.send(args[2], args[3], args[4:])
			time.Sleep(words.Duration(2))
		}
	case "view":
		for range words.Number(1) {
			go func() {
				x.viewers.Add(1)
				x.send("GET", "/events", args[1:])
				x.viewers.Add(-1)
			}()
		}
		synctest.Wait()
		x.Print("  %d streams", x.viewers.Load())
	case "sleep":
		time.Sleep(words.Duration(1))
	case "metrics":
		for line := range strings.Lines(call(x.s, "/metrics", "Authorization", "Bearer "+alice).Body.String()) {
			if regexp.MustCompile(args[0]).MatchString(line) {
				x.Print("  %s", strings.TrimSuffix(line, "\n"))
			}
		}
	case "log":
		x.Events(x.log.Read())
	case "state":
		answered, refused, failed := x.s.Traffic()
		x.Print("  unready %q, refusal %q, %d answered, %d refused, %d failed", x.s.Unready(), x.s.Refusal(), answered, refused, failed)
	default:
		if !x.change(words) {
			x.request(words[0], args[0], args[1:])
		}
	}
}

// change changes the server, and reports whether the words are a command for that.
func (x *script) change(words testkit.Words) bool {
	switch args := words[1:]; words[0] {
	case "under":
		bounds := map[string]*places{"api": x.s.routes.places, "open": x.s.routes.open, "page": x.s.admin.open}
		bounds[args[0]].under.Store(words.Number(2))
	case "tokens":
		x.setTokens(args...)
	case "drain":
		x.s.Drain()
	case "close":
		if words.Arg(1) == "segments" {
			x.s.cfg.Segments.Close()
			break
		}
		testkit.Must(x.t, x.s.cfg.Generator.Close())
	case "restore":
		x.restore()
	default:
		return false
	}
	return true
}

func (x *script) setTokens(pairs ...string) {
	var file strings.Builder
	for pair := range slices.Chunk(pairs, 2) {
		fmt.Fprintln(&file, strings.Join(pair, " "))
	}
	parsed := newTokens(x.t, file.String())
	x.tokens.Store(&parsed)
}

// generator returns a generator by its name, or nil.
func (x *script) generator(name string) *cached.Generator {
	cfg := cached.Config{Layout: small(40), BoostPower: 1}
	switch name {
	case "ended":
		cfg.Layout, cfg.Epoch = small(10), time.Now().Add(-1000*time.Second).Truncate(time.Second)
		return drain(newGenerator(x.t, cfg))
	case "cut-off": // it has used up its window, and cannot reach its store
		store := x.t.TempDir()
		cfg.Assigner = leasedFrom(store)
		g := newGenerator(x.t, cfg)
		testkit.Must(x.t, os.Rename(store, store+".away"))
		x.restore = func() { _ = os.Rename(store+".away", store) }
		x.t.Cleanup(x.restore) // before the generator is closed
		return drain(g)
	case "rejecting":
		cfg.OnEmpty = cached.Reject
	case "too-far-ahead": // by its own bound
		cfg.MaxAhead = time.Hour
	case "paced":
		cfg.MaxAhead = time.Minute
	case "leased":
		cfg.Assigner = leasedFrom(x.t.TempDir())
	case "same":
		return x.s.cfg.Generator
	default:
		return nil
	}
	return newGenerator(x.t, cfg)
}

func (x *script) server(parts []string) {
	x.tokens.Store(new(Tokens))
	cfg := Config{Settings: Settings{Logger: x.log.TextLogger()}, Tokens: func() Tokens { return *x.tokens.Load() }}
	page := func(http.ResponseWriter, *http.Request) {}
	for _, part := range parts {
		switch part {
		case "panics":
			page = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				panic("the page")
			}
		case "breaks":
			page = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("half"))
				panic("the page")
			}
		case "endless":
			page = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		case "tokens":
			x.setTokens("alice", alice, "bob", bob)
		case "segments":
			cfg.Segments = begunSegments(x.t)
		case "ended-segments":
			dir := x.t.TempDir()
			testkit.Must(x.t, segment.Recover(x.t.Context(), folder(dir), "orders", math.MaxInt64-10))
			cfg.Segments = newSegments(x.t, dir)
		case "cut-off-segments":
			dir := filepath.Join(x.t.TempDir(), "counters")
			cfg.Segments, x.restore = newSegments(x.t, dir), func() { testkit.Must(x.t, os.Mkdir(dir, 0o700)) }
		default:
			if g := x.generator(part); g != nil {
				cfg.Generator = g
			} else {
				testkit.Must(x.t, json.Unmarshal([]byte(part), &cfg))
			}
		}
	}
	x.s = newServer(x.t, cfg)
	if slices.Contains(parts, "rejecting") {
		x.s.shortage.Store(&shortage{cached.ErrEmpty, time.Now()}) // else the first request waits
	}
	servePage(x.s, page)
	x.first, _ = x.s.cfg.Generator.Next() // the server's next ones follow it, as long as the block has more
}

// send sends a request for example.com.
func (x *script) send(method, path string, headers []string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for _, header := range headers {
		switch name, value, _ := strings.Cut(strings.ReplaceAll(header, "+", " "), "="); {
		case name == "TLS":
			r.TLS = new(tls.ConnectionState)
		case name == "left":
			ctx, leave := context.WithCancel(r.Context())
			leave()
			r = r.WithContext(ctx)
		case name == "Host":
			r.Host = value
		case value != "":
			r.Header.Set(name, value)
		}
	}
	return answered(x.s, r)
}

// allPaths are one path of every route.
var allPaths = []string{"/v1/id", "/v1/ids?n=2", "/v1/parse/1", "/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/assets/a", "/events", "/nowhere"}

// every sends a request to each of allPaths. For each kind of answer it prints the status, the
// problem, some headers and the paths.
func (x *script) every(method string, headers []string) {
	var kinds []string
	paths := make(map[string]string)
	for _, path := range allPaths {
		w := x.send(method, path, headers)
		parts := given(w, "Retry-After", "X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Cache-Control", "Strict-Transport-Security")
		if w.Code >= 400 {
			var p said
			testkit.Must(x.t, json.Unmarshal(w.Body.Bytes(), &p))
			name := strings.TrimPrefix(p.Type, problemPage)
			wantProblem(x.t, w, name, path)
			parts[0] += " " + name
		}
		kind := strings.Join(parts, ", ")
		if paths[kind] == "" {
			kinds = append(kinds, kind)
		}
		paths[kind] += " " + path
	}
	for _, kind := range kinds {
		x.Print("  %s", kind)
		x.Print("   %s", paths[kind])
	}
}

// given returns the status of an answer, and the headers that it has of some.
func given(w *httptest.ResponseRecorder, names ...string) []string {
	parts := []string{strconv.Itoa(w.Code)}
	for _, name := range names {
		if value := w.Header().Get(name); value != "" {
			parts = append(parts, name+": "+value)
		}
	}
	return parts
}

// mostShown is the size of a body that scripts show.
const mostShown = 1000

func (x *script) request(method, path string, headers []string) {
	defer func() {
		if cause := recover(); cause != nil {
			x.Print("  panic: %v", cause)
		}
	}()
	w := x.send(method, path, headers)
	body := w.Body.String()
	if stream := w.Header().Get("Uidring-Stream"); stream != "" {
		body = number.ReplaceAllStringFunc(body, x.relative)
		w.Header().Set("Uidring-Stream", x.stream(stream))
	}
	if len(body) > mostShown {
		body = "…"
	}
	x.Print("  %s", strings.Join(given(w, "Content-Type", "Allow", "WWW-Authenticate", "Retry-After", "Uidring-Max-Age", "Uidring-Stream"), ", "))
	for line := range strings.Lines(body) {
		x.Print("  %s", strings.TrimSuffix(line, "\n"))
	}
}

// number matches an ID of the generator.
var number = regexp.MustCompile(`\d{12,}`)

// relative returns an ID as its distance from the first one.
func (x *script) relative(text string) string {
	id, err := strconv.ParseInt(text, 10, 64)
	testkit.Must(x.t, err)
	if ahead := id - x.first; ahead > 0 && ahead < 10_000 {
		return fmt.Sprint("+", ahead)
	}
	return "later"
}

// stream returns W for the stream of the generator, and else a number by the first appearance.
func (x *script) stream(name string) string {
	if name == fmt.Sprint("0-", x.s.cfg.Generator.WorkerID()) {
		return "W"
	}
	if !slices.Contains(x.streams, name) {
		x.streams = append(x.streams, name)
	}
	return fmt.Sprint(slices.Index(x.streams, name) + 1)
}
