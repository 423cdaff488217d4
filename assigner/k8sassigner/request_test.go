package k8sassigner_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
)

// A watch sees each request of a client before it is sent.
type watch struct {
	http.RoundTripper
	see func(*http.Request)
}

func (w watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.see(r)
	return w.RoundTripper.RoundTrip(r)
}

// An operator deletes the object between the read and the write of a swap.
func deletedRowIsNotCreatedAgain(t *testing.T, k *kubernetes) {
	writes := 0
	s := k8sassigner.LeaseStore(k.cluster(t, func(r *http.Request) {
		if r.Method == http.MethodPut {
			writes++
			k.do(t, http.MethodDelete, "/uidring-orders-1.eu-4007", "")
		}
	}), namespace)
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	if ok, err := s.Swap(t.Context(), row, row, time.Hour); ok || err != nil || writes != 1 {
		t.Errorf("Swap: %v, %v, %d writes; want false after one", ok, err, writes)
	}
	if got := stores.Load(t, s, row.WorkerID); got != (leasestore.Row{}) {
		t.Errorf("row %+v, want none", got)
	}
}

func renewalTakesFourRequests(t *testing.T, k *kubernetes) {
	var requests atomic.Int64
	s := k8sassigner.LeaseStore(k.cluster(t, func(*http.Request) { requests.Add(1) }), namespace)
	stores.RenewalTakes(t, s, 4, requests.Load)
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
