package k8sassigner_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
)

// A watch counts the requests of a client, and may change each before it is sent.
type watch struct {
	base             http.RoundTripper
	before           func(*http.Request)
	requests, writes atomic.Int64
	expired          atomic.Int64 // answers 410
}

func (w *watch) wrap(base http.RoundTripper) http.RoundTripper {
	w.base = base
	return w
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.before != nil {
		w.before(r)
	}
	w.requests.Add(1)
	if r.Method != http.MethodGet {
		w.writes.Add(1)
	}
	answer, err := w.base.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusGone {
		w.expired.Add(1)
	}
	return answer, err
}

// An operator deletes the object between the read and the write of a swap.
func deletedRowIsNotCreatedAgain(t *testing.T, k *kubernetes) {
	w := new(watch)
	s := k8sassigner.LeaseStore(k.cluster(t, w.wrap), namespace)
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	w.before = func(r *http.Request) {
		if r.Method == http.MethodPut {
			k.do(t, http.MethodDelete, "/uidring-orders-1.eu-4007", "")
		}
	}
	w.writes.Store(0)
	if ok, err := s.Swap(t.Context(), row, row, time.Hour); ok || err != nil || w.writes.Load() != 1 {
		t.Errorf("Swap: %v, %v, %d writes; want false after one", ok, err, w.writes.Load())
	}
	if got := stores.Load(t, s, row.WorkerID); got != (leasestore.Row{}) {
		t.Errorf("row %+v, want none", got)
	}
}

func renewalTakesFourRequests(t *testing.T, k *kubernetes) {
	w := new(watch)
	l, err := assigner.Leased(k8sassigner.LeaseStore(k.cluster(t, w.wrap), namespace), assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatal(err)
	}
	w.requests.Store(0)
	w.writes.Store(0)
	if err := l.Renew(t.Context(), l.Grant().Limit, l.Grant().Limit+1); err != nil {
		t.Fatal(err)
	}
	if w.requests.Load() != 4 || w.writes.Load() != 1 {
		t.Errorf("%d requests, %d of them writes; want 4 and 1", w.requests.Load(), w.writes.Load())
	}
	size := len(k.do(t, http.MethodGet, fmt.Sprintf("/uidring-%s-%d", namespace, l.Grant().WorkerID), ""))
	if size > 2000 {
		t.Errorf("an object takes %d bytes, want 2,000 at most", size)
	}
	t.Logf("an object takes %d bytes", size)
}

// A tool that copies objects to another cluster, or back into this one, creates them anew.
func TestLeasedQuarantinesObjectsThatWereRestored(t *testing.T) {
	k := startKubernetes(t)
	s := k.store(t, namespace)
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		for _, name := range k.names(t, "app.kubernetes.io/managed-by=uidring") {
			text := string(k.do(t, http.MethodGet, "/"+name, ""))
			k.do(t, http.MethodDelete, "/"+name, "")
			version, _, _ := strings.Cut(text[strings.Index(text, `"resourceVersion":"`)+len(`"resourceVersion":"`):], `"`)
			k.do(t, http.MethodPost, "", strings.Replace(text, `"resourceVersion":"`+version+`"`, `"resourceVersion":""`, 1))
		}
		return s
	})
}

// A list takes so long that etcd has forgotten its beginning.
func TestListOfManyPagesStartsAgain(t *testing.T) {
	const n, page = 25, "10"
	k := startKubernetes(t)
	w := new(watch)
	s := k8sassigner.LeaseStore(k.cluster(t, w.wrap), namespace)
	row := stores.Sample()
	for row.WorkerID = range int64(n) {
		stores.Create(t, s, row, time.Hour)
	}
	var once sync.Once
	w.before = func(r *http.Request) {
		query := r.URL.Query()
		if !query.Has("limit") {
			return
		}
		query.Set("limit", page)
		r.URL.RawQuery = query.Encode()
		if query.Has("continue") {
			once.Do(func() {
				row := stores.Load(t, k.store(t, namespace), 7)
				if ok, err := k.store(t, namespace).Swap(t.Context(), row, row, time.Hour); !ok || err != nil {
					t.Errorf("Swap: %v, %v", ok, err)
				}
				k.compact(t)
				k.api.Kill9()
				k.api.Restart() // the server remembers lists
			})
		}
	}
	got, err := s.List(t.Context())
	seen := make(map[int64]bool)
	for _, r := range got {
		seen[r.WorkerID] = true
	}
	if err != nil || len(got) != n || len(seen) != n {
		t.Errorf("%d rows, %d of them different, %v; want %d", len(got), len(seen), err, n)
	}
	if w.expired.Load() == 0 {
		t.Error("the API server remembered the beginning of the list")
	}
}

// compact removes old revisions from etcd, as the API server does every five minutes.
func (k *kubernetes) compact(t *testing.T) {
	t.Helper()
	ask := func(path, body string) string {
		answer, err := http.Post(k.etcd.DSN()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, text)
		}
		return string(text)
	}
	_, text, _ := strings.Cut(ask("/v3/kv/range", `{"key":"Lw=="}`), `"revision":"`)
	revision, _, _ := strings.Cut(text, `"`)
	ask("/v3/kv/compaction", fmt.Sprintf(`{"revision":%s,"physical":true}`, revision))
}
