package k8sassigner_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
)

// A watch counts the requests of a client, and may change or answer each before it is sent.
type watch struct {
	base             http.RoundTripper
	before           func(*http.Request) *http.Response
	requests, writes atomic.Int64
}

func (w *watch) wrap(base http.RoundTripper) http.RoundTripper {
	w.base = base
	return w
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.before != nil {
		if answer := w.before(r); answer != nil {
			return answer, nil
		}
	}
	w.requests.Add(1)
	if r.Method != http.MethodGet {
		w.writes.Add(1)
	}
	return w.base.RoundTrip(r)
}

// An operator deletes the object between the read and the write of a swap.
func deletedRowIsNotCreatedAgain(t *testing.T, k *kubernetes) {
	w := new(watch)
	s := k8sassigner.LeaseStore(k.cluster(t, w.wrap), namespace)
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	w.before = func(r *http.Request) *http.Response {
		if r.Method == http.MethodPut {
			k.do(t, http.MethodDelete, "/uidring-orders-1.eu-4007", "")
		}
		return nil
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
func restoredObjectsAreQuarantined(t *testing.T, k *kubernetes) {
	s := k.store(t, "restored")
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		for _, name := range append(k.names(t, "uidring.github.io/namespace=restored"), "uidring") {
			text := string(k.do(t, http.MethodGet, "/"+name, ""))
			k.do(t, http.MethodDelete, "/"+name, "")
			version, _, _ := strings.Cut(text[strings.Index(text, `"resourceVersion":"`)+len(`"resourceVersion":"`):], `"`)
			k.do(t, http.MethodPost, "", strings.Replace(text, `"resourceVersion":"`+version+`"`, `"resourceVersion":""`, 1))
		}
		return s
	})
}

// A list takes so long that the API server has forgotten its beginning.
func listStartsAgain(t *testing.T, k *kubernetes) {
	const n = 25
	w := new(watch)
	s := k8sassigner.LeaseStore(k.cluster(t, w.wrap), "list")
	row := stores.Sample()
	for row.WorkerID = range int64(n) {
		stores.Create(t, s, row, time.Hour)
	}
	pages := 0
	w.before = func(r *http.Request) *http.Response {
		query := r.URL.Query()
		query.Set("limit", "10")
		r.URL.RawQuery = query.Encode()
		if pages++; pages != 2 {
			return nil
		}
		const expired = `{"kind":"Status","message":"The provided continue parameter is too old","reason":"Expired","code":410}`
		return &http.Response{StatusCode: http.StatusGone, Body: io.NopCloser(strings.NewReader(expired))}
	}
	got, err := s.List(t.Context())
	seen := make(map[int64]bool)
	for _, r := range got {
		seen[r.WorkerID] = true
	}
	if err != nil || len(got) != n || len(seen) != n || pages != 5 {
		t.Errorf("%d rows, %d of them different, of %d pages, %v; want %d of 5", len(got), len(seen), pages, err, n)
	}
}
