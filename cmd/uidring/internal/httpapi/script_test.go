package httpapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

var update = flag.Bool("update", false, "TestScripts writes the scripts with the answers of this code")

// TestScripts runs the scripts in testdata, each in a bubble of synctest. A line behind > is a
// command, and below it the script has its output:
//
//	> server tokens segments {"Rate":1}  makes a server with Settings, and draws a first ID
//	> GET /v1/id HEADER=VALUE...         the answer: its status, some headers and its body
//	> sleep 1s
//	> metrics PATTERN                    the metrics that a regular expression matches
//
// In a value, + stands for a space. An ID is shown as its distance from the first one, such as +1,
// and the stream of the generator as W. The streams of segments are numbered. With -update, the
// test writes the output into the scripts.
func TestScripts(t *testing.T) {
	testkit.Files(t, *update, func(t *testing.T, text string) (got string) {
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

	first   int64    // an ID that was drawn when the server was made
	streams []string // that the script has seen
}

func (x *script) do(words testkit.Words) {
	x.t.Helper()
	switch args := words[1:]; words[0] {
	case "server":
		x.server(args)
	case "sleep":
		time.Sleep(words.Duration(1))
	case "metrics":
		for line := range strings.Lines(call(x.s, "/metrics", "Authorization", "Bearer "+alice).Body.String()) {
			if regexp.MustCompile(args[0]).MatchString(line) {
				x.Print("  %s", strings.TrimSuffix(line, "\n"))
			}
		}
	default:
		x.request(words[0], args[0], args[1:])
	}
}

func (x *script) server(parts []string) {
	cfg := Config{Generator: newGenerator(x.t, cached.Config{})}
	for _, part := range parts {
		switch part {
		case "tokens":
			tokens := newTokens(x.t, "alice "+alice+"\nbob "+bob)
			cfg.Tokens = func() Tokens { return tokens }
		case "segments":
			cfg.Segments = begunSegments(x.t)
		default:
			testkit.Must(x.t, json.Unmarshal([]byte(part), &cfg.Settings))
		}
	}
	x.s = newServer(x.t, cfg)
	x.first = last(x.t, x.s)
}

// mostShown is the size of a body that scripts show.
const mostShown = 1000

// shown are the headers of an answer that scripts show.
var shown = []string{"Content-Type", "Allow", "WWW-Authenticate", "Retry-After", "Uidring-Max-Age", "Uidring-Stream"}

func (x *script) request(method, path string, headers []string) {
	host, pairs := "example.com", []string(nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(strings.ReplaceAll(header, "+", " "), "=")
		if name == "Host" {
			host = value
		}
		pairs = append(pairs, name, value)
	}
	w := ask(x.s, method, host, path, pairs...)
	answer := []string{strconv.Itoa(w.Code)}
	body := w.Body.String()
	for _, name := range shown {
		value := w.Header().Get(name)
		if name == "Uidring-Stream" && value != "" {
			body = number.ReplaceAllStringFunc(body, x.relative)
			value = x.stream(value)
		}
		if value != "" {
			answer = append(answer, name+": "+value)
		}
	}
	if len(body) > mostShown {
		body = "…"
	}
	x.Print("  %s", strings.Join(answer, ", "))
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
