package remoteassigner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// remote returns a client of a server with a handler.
func remote(t *testing.T, handler http.Handler) leasestore.Store {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return remoteassigner.LeaseStore([]string{server.URL}, "orders", remoteassigner.Config{})
}

// A fake is a store whose only method is List.
type fake struct {
	leasestore.Store
	list func() ([]leasestore.Row, error)
}

func (f fake) List(context.Context) ([]leasestore.Row, error) { return f.list() }

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	for _, tt := range []struct {
		urls             []string
		namespace, token string
		want             []string
	}{
		{nil, "", "", []string{"urls is empty", `namespace ""`}},
		{[]string{"https://me:hunter2@host", "ids:8443"}, "a/b", "", []string{`URL "https://xxxxx@host"`, `URL "ids:8443"`, `namespace "a/b"`}},
		{[]string{"https://host\x7f:hunter2"}, "orders", "", []string{`URL "…"`}},
		{[]string{"https://host/?token=hunter2"}, "orders", "", []string{`URL "https://host/"`}},
		{[]string{"https://host"}, "orders", "hunter2\n", []string{"Token (not shown), allowed: printable ASCII"}},
	} {
		stores.Fail(t, remoteassigner.LeaseStore(tt.urls, tt.namespace, remoteassigner.Config{Token: tt.token}), tt.want...)
	}
}

// serveFile serves a store with one namespace.
func serveFile(t *testing.T) http.Handler {
	t.Helper()
	store := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	if _, err := store.Status(t.Context()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	return remoteassigner.NewHandler(func(namespace string) leasestore.Store {
		if namespace != "orders" {
			return nil
		}
		return store
	})
}

// A server that does not answer costs one call. The client does not send that call again.
func TestLeaseStoreUsesTheNextServerForTheNextCall(t *testing.T) {
	good := httptest.NewServer(serveFile(t))
	defer good.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	bad.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	s := remoteassigner.LeaseStore([]string{bad.URL, refusing.URL, good.URL + "/"}, "orders", remoteassigner.Config{})
	row := leasestore.Row{WorkerID: 1, Version: 1, Token: "T"}
	if ok, err := s.Swap(t.Context(), leasestore.Row{}, row, time.Hour); ok || !errors.Is(err, remoteassigner.ErrUnreachable) {
		t.Errorf("the first call: %v, %v; want ErrUnreachable", ok, err)
	}
	if _, err := s.Load(t.Context(), 1); err == nil || errors.Is(err, remoteassigner.ErrUnreachable) || !strings.Contains(err.Error(), "401") {
		t.Errorf("the second call: %v, want the refusal", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Load(ended, 1); !errors.Is(err, context.Canceled) { // which says nothing about the server
		t.Errorf("a call whose context has ended: %v, want context.Canceled", err)
	}
	for range 3 {
		if row, err := s.Load(t.Context(), 1); err != nil || row.Version != 0 {
			t.Errorf("row %+v, %v; want none, since the first call was not sent again", row, err)
		}
	}
}

// A start goes on while an error passes: another server may accept the token.
func TestRefusalsPassUntilEachServerRefuses(t *testing.T) {
	const passing = 599
	answers := map[int]error{200: nil, 502: errors.New("the disk is full"), passing: generator.Passing{Err: errors.New("an election"), After: time.Second}}
	for _, tt := range []struct {
		answers []int // 502 and passing: the store's own errors
		passes  []bool
	}{
		{[]int{401, 404, 401}, []bool{true, false, false}},
		{[]int{401, 503, 401, 401}, []bool{true, true, true, false}},
		{[]int{401, 200, 401, 401}, []bool{true, false, true, false}},
		{[]int{401, 502, 401, 401}, []bool{true, false, true, false}},
		{[]int{502, passing}, []bool{false, true}},
	} {
		var answer int
		handler := remoteassigner.NewHandler(func(string) leasestore.Store {
			return fake{list: func() ([]leasestore.Row, error) { return nil, answers[answer] }}
		})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, stored := answers[answer]; !stored {
				w.WriteHeader(answer)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		s := remoteassigner.LeaseStore([]string{server.URL, server.URL}, "orders", remoteassigner.Config{})
		for i := range tt.answers {
			answer = tt.answers[i]
			if _, err := s.List(t.Context()); storecall.Passes(err) != tt.passes[i] || (err == nil) != (answer == 200) {
				t.Errorf("%v, call %d: %v, want it to pass: %v", tt.answers, i, err, tt.passes[i])
			}
		}
		server.Close()
	}
}

func TestNewHandlerOffersAStoreWithOneNamespace(t *testing.T) {
	s := remote(t, serveFile(t))
	for want := range 2 {
		all, err := s.Namespaces(t.Context())
		if err != nil || len(all) != want {
			t.Errorf("namespaces %v, %v; want %d", all, err, want)
		}
		if ok, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{Version: 1, Token: "M"}); ok != (want == 0) || err != nil {
			t.Error(ok, err)
		}
	}
}

// TestScripts runs the scripts in testdata. In requests.txt a line behind > has the method, the
// path, the type and the body of a request to a handler, and below it the script has the status of
// the answer. The type - stands for none, and the body late for an error of the read. In
// answers.txt a line has the status, a header and the body of an answer to each method, and below
// it the script has their errors, and which are ErrUnreachable. In both, … stands for a megabyte of
// spaces.
func TestScripts(t *testing.T) {
	handler := serveFile(t)
	scripts.Each(t, func(t *testing.T, x *testkit.Script, words testkit.Words) {
		if unicode.IsDigit(rune(words[0][0])) {
			x.Print("  %s", refusals(t, words))
			return
		}
		body := bodyOf(words[3:])
		r := httptest.NewRequestWithContext(t.Context(), words[0], "http://host/", strings.NewReader(body))
		r.URL.Path = words[1]
		if body == "late" {
			r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
		}
		r.Header.Set("Content-Type", strings.TrimPrefix(words[2], "-"))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !strings.Contains(w.Header().Get("Content-Type"), "json") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%q: headers %v, want JSON and no-store", words, w.Header())
		}
		x.Print("  %d", w.Code)
	})
}

func bodyOf(words testkit.Words) string {
	return strings.ReplaceAll(strings.Join(words, " "), "…", strings.Repeat(" ", 1<<20))
}

// refusals returns the errors of all methods of a client whose server gives an answer, with the
// nonce of the request.
func refusals(t *testing.T, words testkit.Words) string {
	s := remote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Nonce string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		name, value, _ := strings.Cut(words[1], ":")
		w.Header().Set(name, value)
		w.WriteHeader(int(words.Number(0)))
		_, _ = io.WriteString(w, strings.Replace(bodyOf(words[2:]), "{", `{"nonce":"`+q.Nonce+`",`, 1))
	}))
	var texts []string
	for _, err := range stores.EveryCall(t.Context(), t, s, time.Minute) {
		parts := strings.SplitN(strings.ReplaceAll(err.Error(), "\n", "; "), ": ", 3) // the method and the port come before the last one
		texts = append(texts, fmt.Sprintf("unreachable %t: %s", errors.Is(err, remoteassigner.ErrUnreachable), parts[2]))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\n  ")
}

// A cache whose key is the URL alone answers a swap with the success of another process.
func TestSwapRefusesTheAnswerOfACache(t *testing.T) {
	handler := serveFile(t)
	var mu sync.Mutex
	kept := make(map[string]*httptest.ResponseRecorder)
	s := remote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if kept[r.URL.Path] == nil {
			kept[r.URL.Path] = httptest.NewRecorder()
			handler.ServeHTTP(kept[r.URL.Path], r)
		}
		_, _ = w.Write(kept[r.URL.Path].Body.Bytes())
	}))
	for _, first := range []bool{true, false} {
		ok, err := s.Swap(t.Context(), leasestore.Row{}, leasestore.Row{WorkerID: 1, Version: 1}, time.Hour)
		if ok != first || (err == nil) != first || !first && !strings.Contains(err.Error(), "caches") {
			t.Errorf("Swap: %v, %v; want true the first time, and then an error", ok, err)
		}
	}
}

// A store with more rows than an answer holds is an error that says where to go on.
func TestListOfTooManyRowsIsAnError(t *testing.T) {
	many := fake{list: func() ([]leasestore.Row, error) { return make([]leasestore.Row, 10_000), nil }}
	rows, err := remote(t, remoteassigner.NewHandler(func(string) leasestore.Store { return many })).List(t.Context())
	if stores.Waits(t, false, err, nil, "use the store of the server itself"); rows != nil {
		t.Errorf("%d rows beside %v", len(rows), err)
	}
}

// Many clients at once use up neither the connections of the database nor memory: bodies are read
// one by one with the calls.
func TestNewHandlerLimitsCallsOnTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		release := make(chan struct{})
		held := fake{list: func() ([]leasestore.Row, error) {
			calls.Add(1)
			<-release
			return nil, nil
		}}
		handler := remoteassigner.NewHandler(func(string) leasestore.Store { return held })
		call := func(ctx context.Context, body *strings.Reader) int {
			r := httptest.NewRequestWithContext(ctx, "POST", "/v1/leases/orders/list", body)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		bodies := make([]*strings.Reader, 100)
		codes := make(chan int, len(bodies))
		for i := range bodies {
			bodies[i] = strings.NewReader("{}")
			go func() { codes <- call(t.Context(), bodies[i]) }()
		}
		synctest.Wait()
		read := 0
		for _, body := range bodies {
			if body.Len() == 0 {
				read++
			}
		}
		if calls.Load() != 16 || read != 16 {
			t.Errorf("%d calls at once, and %d bodies were read, want 16 each", calls.Load(), read)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if code := call(impatient, strings.NewReader("{}")); code != http.StatusServiceUnavailable {
			t.Errorf("a request that ends while it waits: %d, want 503", code)
		}
		close(release)
		for range cap(codes) {
			if code := <-codes; code != http.StatusOK {
				t.Errorf("a request that waited: %d, want 200", code)
			}
		}
	})
}

// The number is in docs/IDENTITY.md.
func TestRenewTakesThreeRequests(t *testing.T) {
	handler := serveFile(t)
	var requests atomic.Int64
	s := remote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	stores.RenewalTakes(t, s, 3, requests.Load)
}
