package k8sassigner_test

import (
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

// A watch counts the requests of a client, and calls before before each.
type watch struct {
	base             http.RoundTripper
	before           func(*http.Request)
	requests, writes atomic.Int64
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
	return w.base.RoundTrip(r)
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
