package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestDrawWritesIDsAsAsked(t *testing.T) {
	s := newServer(t, Config{Settings: Settings{MaxAge: 5 * time.Second}, Segments: begunSegments(t)})
	for _, row := range []struct {
		path, accept, contentType string
		body                      func(a, b uidring.ID) string
	}{
		{"/v1/id", "", "application/json", func(a, _ uidring.ID) string { return `{"id":"` + a.String() + "\"}\n" }},
		{"/v1/id", "text/plain", "text/plain; charset=utf-8", func(a, _ uidring.ID) string { return a.String() + "\n" }},
		{"/v1/ids?n=1", "", "application/json", func(a, _ uidring.ID) string { return `{"ids":["` + a.String() + "\"]}\n" }},
		{"/v1/ids?n=2", "", "application/json", func(a, b uidring.ID) string { return `{"ids":["` + a.String() + `","` + b.String() + "\"]}\n" }},
		{"/v1/ids?n=2", "text/plain", "text/plain; charset=utf-8", func(a, b uidring.ID) string { return a.String() + "\n" + b.String() + "\n" }},
		{"/v1/ids?n=2&form=ranges", "", "application/json", func(a, _ uidring.ID) string {
			return fmt.Sprintf("{\"ranges\":[{\"first\":\"%d\",\"count\":2}]}\n", a)
		}},
		{"/v1/ids?n=2&form=ranges", "text/plain", "text/plain; charset=utf-8", func(a, _ uidring.ID) string { return a.String() + " 2\n" }},
	} {
		for _, method := range []string{"GET", "POST"} {
			before := uidring.ID(last(t, s))
			w := ask(s, method, "example.com", row.path, "Accept", row.accept)
			if want := row.body(before+1, before+2); w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != row.contentType {
				t.Errorf("%s %s as %q: %d, %s, %q; want 200, %s, %q", method, row.path, row.accept, w.Code, w.Header().Get("Content-Type"), w.Body, row.contentType, want)
			}
			if age := w.Header()["Uidring-Max-Age"]; !slices.Equal(age, []string{"5"}) {
				t.Errorf("%s %s: Uidring-Max-Age %q, want 5", method, row.path, age)
			}
			if got, want := w.Header().Get("Uidring-Stream"), fmt.Sprint("0-", s.cfg.Generator.WorkerID()); got != want {
				t.Errorf("%s %s: Uidring-Stream %q, want %s", method, row.path, got, want)
			}
		}
	}
	for _, path := range []string{"/v1/ids", "/v1/parse/1", ordersPath} { // answers without IDs of the generator
		if age := call(s, path).Header()["Uidring-Max-Age"]; age != nil {
			t.Errorf("%s: Uidring-Max-Age %q, want none", path, age)
		}
	}
	ofSegment := func(s *Server) string { return call(s, ordersPath).Header().Get("Uidring-Stream") }
	other := newServer(t, Config{Segments: begunSegments(t)})
	if a, b, c := ofSegment(s), ofSegment(s), ofSegment(other); a == "" || a != b || a == c {
		t.Errorf("Uidring-Stream %q and %q of the segments of a server, %q of another one, want one for each server", a, b, c)
	}
}

func TestMethodsOfEachRoute(t *testing.T) {
	s := newServer(t, Config{})
	for _, path := range allPaths {
		allow, methods := "GET, HEAD", []string{"POST", "PUT", "OPTIONS", "BREW"}
		if strings.HasPrefix(path, "/v1/id") {
			allow, methods = "GET, POST", []string{"HEAD", "PUT", "OPTIONS", "BREW"}
		}
		for _, method := range methods {
			w := ask(s, method, "example.com", path)
			if wantProblem(t, w, "method-not-allowed", method+" "+path); w.Header().Get("Allow") != allow {
				t.Errorf("%s %s: Allow %q; want %q", method, path, w.Header().Get("Allow"), allow)
			}
		}
	}
}

func TestWrongRequests(t *testing.T) {
	s := newServer(t, Config{Settings: Settings{Rate: math.MaxInt32, Burst: 50}})
	before := last(t, s)
	const noPath, digits = `There is nothing under this path; see /openapi.json.`, `allowed: decimal digits without sign or leading zero.`
	for _, row := range []struct{ path, accept, name, detail string }{
		{"/v1/ids", "", "bad-request", `Parameter n is "", allowed: 1 to 50.`},
		{"/v1/ids?n=0", "", "bad-request", `Parameter n is "0", allowed: 1 to 50.`},
		{"/v1/ids?n=51", "", "bad-request", `Parameter n is "51", allowed: 1 to 50.`},
		{"/v1/ids?n=%2B5", "", "bad-request", `Parameter n is "+5", allowed: 1 to 50.`},
		{"/v1/ids?n=05", "", "bad-request", `Parameter n is "05", allowed: 1 to 50.`},
		{"/v1/ids?n=" + strings.Repeat("7", 100), "", "bad-request", `Parameter n is "` + strings.Repeat("7", 64) + `…", allowed: 1 to 50.`},
		{"/v1/ids?n=1&n=2", "", "bad-request", `Parameter n is given 2 times, allowed: once.`},
		{"/v1/ids?n=1&count=2", "", "bad-request", `The query has the unknown parameter "count", allowed: n, form.`},
		{"/v1/ids?n=1;form=ranges", "", "bad-request", `The query of the URL cannot be parsed: invalid semicolon separator in query.`},
		{"/v1/id?n=1&x=2&x=3", "", "bad-request", `The query has the unknown parameter "n", allowed: none. The query has the unknown parameter "x", allowed: none.`},
		{"/v1/ids?n=1&form=Ranges", "", "bad-request", `Parameter form is "Ranges", allowed: ranges, with n.`},
		{"/v1/parse/1?form=base62", "", "bad-request", `The query has the unknown parameter "form", allowed: none.`},
		{"/x", "", "not-found", noPath},
		{"/assets/../../x", "", "not-found", noPath},
		{"//v1/id", "", "not-found", noPath},
		{"/v1/parse/../id", "", "invalid-id", `malformed ID: decimal "../id": character "." at offset 0, ` + digits},
		{"/v1/parse/", "", "invalid-id", `malformed ID: decimal "": no digits, ` + digits},
		{"/v1/parse/0", "", "invalid-id", "0 is not an ID of this server's layout."},
		{"/v1/parse/%3Cscript%3E1%3C%2Fs%3E", "", "invalid-id", `malformed ID: decimal "<script>1</s>": character "<" at offset 0, ` + digits},
	} {
		if p := wantProblem(t, call(s, row.path, "Accept", row.accept), row.name, row.path); p.Detail != row.detail {
			t.Errorf("%s: %q; want %q", row.path, p.Detail, row.detail)
		}
	}
	if after := last(t, s); after != before+1 {
		t.Errorf("%d IDs were drawn, want 0", after-before-1)
	}
}

func TestParseTakesAnIDApart(t *testing.T) {
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{Epoch: epoch, DatacenterID: 2})})
	alloc := testgen.Allocator(t, bitsalloc.Default(), epoch)
	number, err := alloc.Allocate(86_400, 2, 42, 7)
	testkit.Must(t, err)
	id := uidring.ID(number)
	want := fmt.Sprintf(`{"id":"%d","base32":"%s","base62":"%s","delta":86400,"datacenter":2,"worker":42,"sequence":7,"time":"2026-01-02T00:00:00Z"}`+"\n",
		id, id.Base32(), id.Base62())
	if w := call(s, "/v1/parse/"+id.String()); w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d, %s; want %s", w.Code, w.Body, want)
	}
}

// The sizes pass the bounds of blocks, of the ring and of chunks.
func TestDrawInBatchesOfAllSizes(t *testing.T) {
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{
		Layout: bitsalloc.Layout{DeltaBits: 45, WorkerBits: 10, SequenceBits: 8}, BoostPower: 2,
	})})
	drawn := []int64{0}
	for _, n := range []int{1, 255, 256, 257, 1024, 1025, 4096, 4097, 100_000} {
		for accept, form := range map[string]string{"application/json": "", "text/plain": "", "*/*": "&form=ranges"} {
			w := call(s, "/v1/ids?n="+strconv.Itoa(n)+form, "Accept", accept)
			ids := decode(t, w.Body.String())
			if w.Code != 200 || len(ids) != n {
				t.Fatalf("n=%d as %s: %d, %d IDs", n, accept, w.Code, len(ids))
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

// decode reads a body as a client would.
func decode(t *testing.T, body string) (ids []int64) {
	t.Helper()
	var many struct {
		IDs    []string
		Ranges []struct {
			First int64 `json:",string"`
			Count int64
		}
	}
	texts := strings.Fields(body)
	if json.Unmarshal([]byte(body), &many) == nil {
		for _, r := range many.Ranges {
			for i := range r.Count {
				ids = append(ids, r.First+i)
			}
		}
		texts = many.IDs
	}
	for _, text := range texts {
		id, err := uidring.Parse(text)
		testkit.Must(t, err)
		ids = append(ids, int64(id))
	}
	return ids
}

// The request draws more than the window has, from a store that answers.
func TestDrawWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, Assigner: leasedFrom(t.TempDir())})
		n := 2 * (int(g.Stats().Window/time.Second) + 10)
		s := newServer(t, Config{Generator: g})
		w := call(s, "/v1/ids?n="+strconv.Itoa(n), "Accept", "text/plain")
		if ids := decode(t, w.Body.String()); w.Code != 200 || len(ids) != n || !slices.IsSorted(ids) {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if s := g.Stats(); s.Renewals == 0 || s.RejectedTakes != 0 {
			t.Errorf("%+v; want a renewal, else the window was enough, and no rejection of a request that got its IDs", s)
		}
	})
}

// One request waits, and those after it are refused at once, until there is an ID again. A client
// that has left before shows nothing. They do not use up the bound of ID time, 27,360 IDs here.
func TestDrawWaitsInVainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := cutOff(t)
		s := newServer(t, Config{Generator: g, MaxAhead: time.Hour, IDsPerSecond: 8})
		ctx, leave := context.WithCancel(t.Context())
		leave()
		left := httptest.NewRecorder()
		both(s).ServeHTTP(left, httptest.NewRequestWithContext(ctx, "GET", "/v1/id", nil))
		if left.Code != 503 {
			t.Errorf("a client that has left: %d, want 503", left.Code)
		}
		for i := range 20 {
			started := time.Now()
			w := call(s, "/v1/ids?n=10000")
			wantProblem(t, w, "no-lease", "without a lease")
			if took := time.Since(started); w.Code != 503 || (took >= longestWait) != (i == 0) {
				t.Errorf("request %d: %d after %v; want 503, the first after %v, the others before that", i, w.Code, took, longestWait)
			}
		}
	})
}

func TestAccept(t *testing.T) {
	for accept, want := range map[string]string{
		"":                               typeJSON,
		"*/*":                            typeJSON,
		"Application/JSON":               typeJSON,
		"application/json, text/plain":   typeJSON,
		"text/html, */*;q=0.8":           typeJSON,
		"Text/Plain; charset=utf-8":      typeText,
		"text/html,text/plain;q=0.9,*/*": typeText,
	} {
		if got := accepted([]string{accept}); got != want {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
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
		s.ServeHTTP(w, r)
		number, err := strconv.Atoi(r.URL.Query().Get("n"))
		good := err == nil && number >= 1 && number <= 100 && strconv.Itoa(number) == r.URL.Query().Get("n")
		switch {
		case w.Code == 400:
		case w.Code != 200 || !good:
			t.Errorf("n=%q: %d", n, w.Code)
		case len(decode(t, w.Body.String())) != number:
			t.Errorf("n=%q: %s", n, w.Body)
		}
		if good && n == strconv.Itoa(number) && w.Code != 200 {
			t.Errorf("n=%q: %d, want 200", n, w.Code)
		}
	})
}
