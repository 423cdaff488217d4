package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// eachProtocol runs a test over HTTP/1.1 and HTTP/2.
func eachProtocol(t *testing.T, cfg Config, test func(t *testing.T, s *Server, c *http.Client, url string)) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			s := newServer(t, cfg)
			l := httptest.NewUnstartedServer(both(s))
			l.EnableHTTP2 = protocol == "HTTP/2.0"
			l.StartTLS()
			t.Cleanup(l.Close)
			if answer, _ := do(t, l.Client(), request(t, "GET", l.URL+"/healthz")); answer.Proto != protocol {
				t.Fatalf("the answer is in %s", answer.Proto)
			}
			test(t, s, l.Client(), l.URL)
		})
	}
}

// last draws an ID: the server's next ones follow it, as long as the run has more.
func last(t *testing.T, s *Server) uidring.ID {
	t.Helper()
	id, err := s.cfg.Generator.Next()
	if err != nil {
		t.Fatal(err)
	}
	return uidring.ID(id)
}

func TestDrawWritesIDsAsAsked(t *testing.T) {
	eachProtocol(t, Config{}, func(t *testing.T, s *Server, c *http.Client, url string) {
		eight := func(ids ...uidring.ID) (body string) {
			for _, id := range ids {
				body += string(binary.BigEndian.AppendUint64(nil, uint64(id)))
			}
			return body
		}
		for _, row := range []struct {
			path, accept, contentType string
			body                      func(a, b, c uidring.ID) string
		}{
			{"/v1/id", "", "application/json", func(a, _, _ uidring.ID) string { return `{"id":"` + a.String() + "\"}\n" }},
			{"/v1/id?form=base32", "", "application/json", func(a, _, _ uidring.ID) string { return `{"id":"` + a.Base32() + "\"}\n" }},
			{"/v1/id", "text/plain", "text/plain; charset=utf-8", func(a, _, _ uidring.ID) string { return a.String() + "\n" }},
			{"/v1/id?form=base62", "text/plain", "text/plain; charset=utf-8", func(a, _, _ uidring.ID) string { return a.Base62() + "\n" }},
			{"/v1/id", "application/octet-stream", "application/octet-stream", func(a, _, _ uidring.ID) string { return eight(a) }},
			{"/v1/ids?n=3", "", "application/json", func(a, b, c uidring.ID) string {
				return fmt.Sprintf("{\"ids\":[\"%d\",\"%d\",\"%d\"]}\n", a, b, c)
			}},
			{"/v1/ids?n=3&form=base62", "", "application/json", func(a, b, c uidring.ID) string {
				return `{"ids":["` + a.Base62() + `","` + b.Base62() + `","` + c.Base62() + "\"]}\n"
			}},
			{"/v1/ids?form=base32&n=3", "text/plain", "text/plain; charset=utf-8", func(a, b, c uidring.ID) string {
				return a.Base32() + "\n" + b.Base32() + "\n" + c.Base32() + "\n"
			}},
			{"/v1/ids?n=3", "application/octet-stream", "application/octet-stream", func(a, b, c uidring.ID) string { return eight(a, b, c) }},
			{"/v1/ids?n=3&form=ranges", "", "application/json", func(a, _, _ uidring.ID) string {
				return fmt.Sprintf("{\"ranges\":[{\"first\":\"%d\",\"count\":3}]}\n", a)
			}},
			{"/v1/ids?n=2&form=ranges", "text/plain", "text/plain; charset=utf-8", func(a, _, _ uidring.ID) string { return a.String() + " 2\n" }},
		} {
			r := request(t, "GET", url+row.path)
			if row.accept != "" {
				r.Header.Set("Accept", row.accept)
			}
			before := last(t, s)
			answer, body := do(t, c, r)
			want := row.body(before+1, before+2, before+3)
			if answer.StatusCode != 200 || body != want {
				t.Errorf("%s as %q: %d, %q; want 200, %q", row.path, row.accept, answer.StatusCode, body, want)
			}
			h := answer.Header
			if h.Get("Content-Type") != row.contentType || h.Get("Cache-Control") != "no-store" || h.Get("Content-Length") != strconv.Itoa(len(want)) {
				t.Errorf("%s as %q: headers %v, want Content-Type %s, Cache-Control no-store, Content-Length %d",
					row.path, row.accept, h, row.contentType, len(want))
			}
		}
	})
}

func TestDrawWithHeadSpendsNoID(t *testing.T) {
	eachProtocol(t, Config{}, func(t *testing.T, s *Server, c *http.Client, url string) {
		before := last(t, s)
		for path, want := range map[string]string{"/v1/id": "application/json", "/v1/ids?n=1000": "application/json", "/healthz": "text/plain; charset=utf-8"} {
			answer, body := do(t, c, request(t, "HEAD", url+path))
			if answer.StatusCode != 200 || body != "" || answer.Header.Get("Content-Type") != want {
				t.Errorf("HEAD %s: %d, %q, Content-Type %q; want 200, %q", path, answer.StatusCode, body, answer.Header.Get("Content-Type"), want)
			}
		}
		if answer, _ := do(t, c, request(t, "HEAD", url+"/v1/ids?n=0")); answer.StatusCode != 400 {
			t.Errorf("HEAD /v1/ids?n=0: %d, want 400", answer.StatusCode)
		}
		if after := last(t, s); after != before+1 {
			t.Errorf("%d IDs were drawn, want 0", after-before-1)
		}
	})
}

func TestMethodsOfEachRoute(t *testing.T) {
	s := newServer(t, Config{})
	for path, allow := range map[string]string{
		"/v1/id": allowedToDraw, "/v1/ids": allowedToDraw, "/v1/parse/1": allowed, "/healthz": allowed, "/readyz": allowed,
		"/metrics": allowed, "/openapi.json": allowed, "/nowhere": allowed,
	} {
		for method, status := range map[string]int{"OPTIONS": 204, "POST": 405, "PUT": 405, "DELETE": 405, "PATCH": 405, "BREW": 405} {
			if method == "POST" && allow == allowedToDraw {
				continue
			}
			w := ask(s, method, "example.com", path)
			if w.Code != status || w.Header().Get("Allow") != allow {
				t.Errorf("%s %s: %d, Allow %q; want %d: %s", method, path, w.Code, w.Header().Get("Allow"), status, w.Body)
			}
			if status == 405 {
				wantProblem(t, w.Result(), w.Body.String(), "method-not-allowed")
			}
		}
	}
}

func TestWrongRequests(t *testing.T) {
	s := newServer(t, Config{Settings: Settings{Rate: math.MaxInt32, Burst: 50}})
	before := last(t, s)
	for _, row := range []struct {
		url, accept string
		status      int
		name        string
		detail      string
	}{
		{"/v1/ids", "", 400, "bad-request", `Parameter n is "", allowed: 1 to 50.`},
		{"/v1/ids?n=0", "", 400, "bad-request", `Parameter n is "0", allowed: 1 to 50.`},
		{"/v1/ids?n=51", "", 400, "bad-request", `Parameter n is "51", allowed: 1 to 50.`},
		{"/v1/ids?n=%2B5", "", 400, "bad-request", `Parameter n is "+5", allowed: 1 to 50.`},
		{"/v1/ids?n=05", "", 400, "bad-request", `Parameter n is "05", allowed: 1 to 50.`},
		{"/v1/ids?n=" + strings.Repeat("7", 100), "", 400, "bad-request", `Parameter n is "` + strings.Repeat("7", 64) + `…", allowed: 1 to 50.`},
		{"/v1/ids?n=1&n=2", "", 400, "bad-request", `Parameter n is given 2 times, allowed: once.`},
		{"/v1/ids?n=1&count=2", "", 400, "bad-request", `The query has an unknown parameter, allowed: n, form.`},
		{"/v1/ids?n=1;form=base32", "", 400, "bad-request", `The query of the URL cannot be parsed.`},
		{"/v1/id?n=1", "", 400, "bad-request", `The query has an unknown parameter, allowed: form.`},
		{"/v1/id?form=BASE32", "", 400, "bad-request", `Parameter form is "BASE32", allowed: decimal, base32, base62.`},
		{"/v1/id?form=decimal", "application/octet-stream", 400, "bad-request",
			`Parameter form is given, but application/octet-stream has one form only: 8 bytes, big-endian.`},
		{"/v1/ids?n=1&form=Ranges", "", 400, "bad-request", `Parameter form is "Ranges", allowed: decimal, base32, base62, ranges.`},
		{"/v1/parse/1?form=ranges", "", 400, "bad-request", `Parameter form is "ranges", allowed: decimal, base32, base62.`},
		{"/v1/id", "text/html", 406, "not-acceptable", `Accept allows none of application/json, text/plain, application/octet-stream.`},
		{"/", "", 404, "not-found", `There is nothing under this path; see /openapi.json.`},
		{"/assets/../../x", "", 404, "not-found", `There is nothing under this path; see /openapi.json.`},
		{"//v1/id", "", 404, "not-found", `There is nothing under this path; see /openapi.json.`},
		{"/v1/parse/../id", "", 400, "invalid-id", `malformed ID: no form has 5 characters, allowed: decimal digits, 13 characters of base32, 11 of base62.`},
		{"/v1/parse/", "", 400, "invalid-id", `malformed ID: decimal "": no digits, allowed: decimal digits without sign or leading zero.`},
		{"/v1/id?" + strings.Repeat("x", 2048-len("/v1/id?")), "", 400, "bad-request", `The query has an unknown parameter, allowed: form.`},
		{"/v1/id?" + strings.Repeat("x", 2049-len("/v1/id?")), "", 414, "uri-too-long", `A URL may have 2048 bytes.`},
	} {
		var headers []string
		if row.accept != "" {
			headers = []string{"Accept", row.accept}
		}
		w := call(s, row.url, headers...)
		if p := wantProblem(t, w.Result(), w.Body.String(), row.name); p.Status != row.status || p.Detail != row.detail {
			t.Errorf("%s: %d, %q; want %d, %q", row.url, p.Status, p.Detail, row.status, row.detail)
		}
	}
	if after := last(t, s); after != before+1 {
		t.Errorf("%d IDs were drawn, want 0", after-before-1)
	}
}

// TestDrawInBatchesOfAllSizes passes the bounds of runs, of the ring and of chunks.
func TestDrawInBatchesOfAllSizes(t *testing.T) {
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{
		Layout: bitsalloc.Layout{DeltaBits: 45, WorkerBits: 10, SequenceBits: 8}, BoostPower: 2,
	})})
	drawn := []int64{0}
	for _, n := range []int{1, 2, 255, 256, 257, 1024, 1025, 4095, 4096, 4097, 20_000, 100_000} {
		for _, accept := range []string{"application/json", "text/plain", "application/octet-stream", asRanges} {
			url := "/v1/ids?n=" + strconv.Itoa(n)
			if accept == asRanges {
				url += "&form=ranges"
			}
			w := call(s, url, "Accept", accept)
			ids := decode(t, accept, w.Body.String())
			if w.Code != 200 || len(ids) != n || n > 1 && w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
				t.Fatalf("n=%d as %s: %d, %d IDs, Content-Length %s of %d bytes", n, accept, w.Code, len(ids), w.Header().Get("Content-Length"), w.Body.Len())
			}
			drawn = append(drawn, ids...)
		}
	}
	for i := range drawn[1:] {
		if drawn[i] >= drawn[i+1] {
			t.Fatalf("after %d comes %d, want more", drawn[i], drawn[i+1])
		}
	}
}

// asRanges accepts JSON, with form=ranges in the URL.
const asRanges = "application/json, text/plain;q=0.5"

// decode reads a body as a client would.
func decode(t *testing.T, accept, body string) (ids []int64) {
	t.Helper()
	texts := strings.Fields(body)
	switch accept {
	case "application/octet-stream":
		for chunk := range slices.Chunk([]byte(body), 8) {
			ids = append(ids, int64(binary.BigEndian.Uint64(chunk)))
		}
		return ids
	case asRanges:
		var many struct {
			Ranges []struct {
				First int64 `json:",string"`
				Count int64
			}
		}
		if err := json.Unmarshal([]byte(body), &many); err != nil {
			t.Fatal(err)
		}
		for _, r := range many.Ranges {
			for i := range r.Count {
				ids = append(ids, r.First+i)
			}
		}
		return ids
	case "application/json":
		var many struct{ IDs []string }
		if err := json.Unmarshal([]byte(body), &many); err != nil {
			t.Fatal(err)
		}
		texts = many.IDs
	}
	for _, text := range texts {
		id, err := uidring.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, int64(id))
	}
	return ids
}

// TestDrawWaitsForTheLease draws more than the window has, from a store that answers.
func TestDrawWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, Assigner: assigner.Leased(fileassigner.LeaseStore(t.TempDir()), assigner.LeaseConfig{AllowUndurable: true})})
		window := int(g.Stats().Window / time.Second)
		s := newServer(t, Config{Generator: g})
		w := call(s, "/v1/ids?n="+strconv.Itoa(2*(window+10)), "Accept", "text/plain")
		if ids := decode(t, "text/plain", w.Body.String()); w.Code != 200 || len(ids) != 2*(window+10) || !slices.IsSorted(ids) {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if g.Stats().Renewals == 0 {
			t.Error("the window was enough, so the test shows nothing")
		}
	})
}

// TestDrawWaitsInVainOnce: one request waits, and those after it are refused at once, until there
// is an ID again. A client that has left before shows nothing.
func TestDrawWaitsInVainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := cutOff(t)
		s := newServer(t, Config{Generator: g})
		ctx, leave := context.WithCancel(t.Context())
		leave()
		left := httptest.NewRecorder()
		both(s).ServeHTTP(left, request(t, "GET", "/v1/id").WithContext(ctx))
		if left.Code != 503 {
			t.Errorf("a client that has left: %d, want 503", left.Code)
		}
		for i := range 20 {
			started := time.Now()
			w := call(s, "/v1/id")
			if took := time.Since(started); w.Code != 503 || (took >= longestWait) != (i == 0) {
				t.Errorf("request %d: %d after %v; want 503, the first after %v, the others before that", i, w.Code, took, longestWait)
			}
		}
	})
}

func TestDrawAllocatesNothingPerID(t *testing.T) {
	s := newServer(t, Config{})
	for _, accept := range []string{"application/json", "text/plain", "application/octet-stream"} {
		allocs := func(n int) float64 {
			r := httptest.NewRequest("GET", "/v1/ids?n="+strconv.Itoa(n), nil)
			r.Header.Set("Accept", accept)
			return testing.AllocsPerRun(50, func() { both(s).ServeHTTP(&sink{header: make(http.Header)}, r) })
		}
		if few, many := allocs(10), allocs(10_000); many > few+5 { // the race detector makes pools forget
			t.Errorf("%s: %v allocations for 10 IDs, %v for 10,000", accept, few, many)
		}
	}
}

func FuzzN(f *testing.F) {
	for _, n := range []string{"1", "0", "100", "101", "-1", "+1", "1e2", "０", " 1", "01", "9223372036854775808"} {
		f.Add(n)
	}
	s := newServer(f, Config{Settings: Settings{Rate: math.MaxInt32, Burst: 100}})
	f.Fuzz(func(t *testing.T, n string) {
		r := httptest.NewRequest("GET", "/v1/ids", nil)
		r.URL.RawQuery = "n=" + n
		w := httptest.NewRecorder()
		both(s).ServeHTTP(w, r)
		number, err := strconv.Atoi(r.URL.Query().Get("n"))
		good := err == nil && number >= 1 && number <= 100 && strconv.Itoa(number) == r.URL.Query().Get("n")
		switch {
		case w.Code == 400:
		case w.Code != 200 || !good:
			t.Errorf("n=%q: %d", n, w.Code)
		case len(decode(t, "application/json", w.Body.String())) != number:
			t.Errorf("n=%q: %s", n, w.Body)
		}
		if good && n == strconv.Itoa(number) && w.Code != 200 {
			t.Errorf("n=%q: %d, want 200", n, w.Code)
		}
	})
}

func FuzzLength(f *testing.F) {
	f.Add(int64(1), 12)
	f.Add(int64(99), 1000)
	f.Add(int64(999_999_999_999_999_999), 3)
	f.Add(int64(9_223_372_036_854_775_000), 700)
	f.Fuzz(func(t *testing.T, first int64, n int) {
		n = max(1, min(n, 5000))
		first = max(1, min(first, 1<<63-1-int64(2*n)))
		b := newBatch()
		b.spans = []span{{first, n}, {first + int64(n), n}}
		for _, l := range []format{
			{head: many.head, between: `","`, tail: many.tail, form: form{0, appendDecimal}},
			{between: "\n", tail: "\n", form: form{13, appendBase32}},
			{form: form{8, appendBinary}},
			rangesJSON, rangesText,
		} {
			w := &sink{header: make(http.Header)}
			if b.write(w, l); w.body != b.length(l) {
				t.Errorf("%d IDs from %d: %d bytes, length says %d", 2*n, first, w.body, b.length(l))
			}
		}
	})
}
