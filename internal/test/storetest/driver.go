package storetest

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// Driver runs the cases that a second driver of a database, or a pooler before it, may change:
// values, errors, the life of a lease, transactions and an outage.
func Driver(t *testing.T, b Database) {
	b.runCases(t, []storeCase{
		{"ValuesComeBackAsWritten", false, values},
		{"ErrorsAreDiagnosed", false, driverErrors},
		{"LeasesLive", false, leasesLive},
		{"TransactionThatBeginsIsRefused", false, transactionBegins},
		{"RenewalWaitsForTheDatabase", false, renewalWaits},
	})
}

func values(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	row := leasestore.Row{WorkerID: math.MaxInt64, Version: math.MaxInt64, Fence: math.MaxInt64, Token: "T'\"\\%?$1",
		Owner: "örders '\"\\%?$1", Holder: "日本 pid 4711", Identity: "é"}
	d := assignertest.Domain()
	meta := leasestore.Meta{Layout: d.Layout, Epoch: d.Epoch, Version: math.MaxInt64, Namespace: "N", Fence: math.MaxInt64, Token: "T", Identity: "é"}
	ok, err := s.Swap(t.Context(), leasestore.Row{}, row, time.Hour)
	okMeta, errMeta := s.SwapMeta(t.Context(), leasestore.Meta{}, meta)
	if !ok || !okMeta || err != nil || errMeta != nil {
		t.Fatalf("Swap: %v, %v; SwapMeta: %v, %v", ok, err, okMeta, errMeta)
	}
	got, err := s.Load(t.Context(), row.WorkerID)
	row.Expires = got.Expires
	if err != nil || got != row {
		t.Errorf("row %+v, want %+v: %v", got, row, err)
	}
	if got, err := s.LoadMeta(t.Context()); err != nil || got != meta {
		t.Errorf("meta %+v, want %+v: %v", got, meta, err)
	}
	for name, old := range map[string]leasestore.Row{"none": {}, "another one": {Version: 1}} {
		if ok, err := s.Swap(t.Context(), old, row, time.Hour); ok || err != nil {
			t.Errorf("Swap with %s as the old row: %v, %v; want false", name, ok, err)
		}
	}
	expiryDigits(t, b)
}

func driverErrors(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_LEASE")
	_, err := TryAssign(t, leased(db), time.Minute)
	checkWithin(t, err, sqlassigner.ErrTableMissing, "worker_lease")
	Exec(t, db, "CREATE TABLE WORKER_LEASE AS SELECT * FROM WORKER_LEASE_META")
	if _, err := TryAssign(t, leased(db), time.Minute); err == nil || errors.Is(err, sqlassigner.ErrUnreachable) {
		t.Errorf("Assign with a table of other columns: %v, want an error of the statement", err)
	}
}

func leasesLive(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Renew(t, Assign(t, disposable(db)))
	Renew(t, Assign(t, sticky(db)))
	fenced := assigner.Fenced(LeaseStore(db), assigner.Static(besideDisposable), "owner", assigner.LeaseConfig{FirstWorkerID: besideDisposable, MaxLead: time.Hour})
	first := Assign(t, fenced)
	limit := first.Grant().Limit
	if err := errors.Join(first.Renew(t.Context(), limit, limit+10), first.Release(t.Context(), limit)); err != nil {
		t.Error(err)
	}
	if again := Assign(t, fenced).Grant(); again.First <= limit {
		t.Errorf("grant %+v after a release at %d, want it above", again, limit)
	}
}

func renewalWaits(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	var up func()
	SwapWaits(t, db, func() { up = b.Down(t, dsn) }, func() { up() })
}
