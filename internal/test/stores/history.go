package stores

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func assign(t *testing.T, s leasestore.Store) (assigner.Lease, error) {
	return assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
}

// ACopyIsQuarantined checks that a claim on a copy of the store's data, such as a backup that was
// restored, is quarantined. copied makes the copy, and returns the store on it.
func ACopyIsQuarantined(t *testing.T, s leasestore.Store, copied func() leasestore.Store) {
	t.Helper()
	l, err := assign(t, s)
	if err != nil {
		t.Fatal(err)
	}
	identity := Status(t, s).Identity
	s = copied()
	if got := Status(t, s).Identity; got == identity {
		t.Errorf("the copy has the identity %q of the original", got)
	}
	_, err = assign(t, s)
	if !errors.Is(err, assigner.ErrQuarantined) || !strings.Contains(err.Error(), identity) ||
		strings.Contains(err.Error(), fmt.Sprintf("worker %d ", l.Grant().WorkerID)) {
		t.Errorf("Assign on a copy: %v; want a quarantine that names %q", err, identity)
	}
}

// ALostNodeForgetsNoFence renews a lease three times, and checks its row. kill is called before the
// second renewal.
func ALostNodeForgetsNoFence(t *testing.T, s leasestore.Store, kill func()) {
	t.Helper()
	l, err := assign(t, s)
	if err != nil {
		t.Fatal(err)
	}
	identity := Status(t, s).Identity
	for i := range 3 {
		limit := l.Grant().Limit
		if i == 1 {
			kill()
		}
		testkit.Succeeds(t, "a renewal", func() error { return l.Renew(t.Context(), limit, limit+10) })
		row := Load(t, s, l.Grant().WorkerID)
		if row.Fence != l.Grant().Limit || row.Fence < limit+10 {
			t.Errorf("row %+v, want fence %d, above %d", row, l.Grant().Limit, limit)
		}
	}
	if got := Status(t, s).Identity; got != identity {
		t.Errorf("identity %q afterwards, was %q", got, identity)
	}
}

// RenewalTakes checks how many requests a renewal makes. requests returns their number so far.
func RenewalTakes(t *testing.T, s leasestore.Store, want int64, requests func() int64) {
	t.Helper()
	l, err := assign(t, s)
	if err != nil {
		t.Fatal(err)
	}
	before, limit := requests(), l.Grant().Limit
	if err := l.Renew(t.Context(), limit, limit+1); err != nil || requests()-before != want {
		t.Errorf("%d requests, %v; want %d", requests()-before, err, want)
	}
}

// ItsIdentityStays checks the status of a durable store, whose identity matches a pattern and
// outlives a crash of its server.
func ItsIdentityStays(t *testing.T, s leasestore.Store, server *testserver.Server, pattern string) (identity string) {
	t.Helper()
	first := Status(t, s)
	if time.Since(first.Now).Abs() > 10*time.Second || first.Lossy || len(first.Faults) > 0 || !regexp.MustCompile(pattern).MatchString(first.Identity) {
		t.Errorf("status %+v, want a durable store whose identity matches %s", first, pattern)
	}
	server.Kill9()
	server.Restart()
	if got := Status(t, s).Identity; got != first.Identity {
		t.Errorf("identity %q after a crash, was %q", got, first.Identity)
	}
	return first.Identity
}

// ListHasAllFolders checks that List returns the rows of all folders of an empty store, of several
// pages if more rows and long owners make them, and not the rows of its neighbours.
func ListHasAllFolders(t *testing.T, s leasestore.Store, more int64, owner string, neighbours ...leasestore.Store) {
	t.Helper()
	for _, n := range neighbours {
		Create(t, n, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
	}
	if rows, err := s.List(t.Context()); err != nil || len(rows) > 0 {
		t.Errorf("List of an empty store: %+v, %v", rows, err)
	}
	want := map[int64]bool{0: true, 999: true, 1000: true, 123_456_789: true}
	for workerID := range more {
		want[2000+workerID] = true
	}
	for workerID := range want {
		Create(t, s, leasestore.Row{WorkerID: workerID, Version: 1, Owner: fmt.Sprint(workerID, owner)}, time.Hour)
	}
	rows, err := s.List(t.Context())
	if err != nil || len(rows) != len(want) {
		t.Fatalf("List: %d rows, %v; want %d", len(rows), err, len(want))
	}
	for _, row := range rows {
		if !want[row.WorkerID] || row.Owner != fmt.Sprint(row.WorkerID, owner) {
			t.Errorf("List: row %d of %.20s, twice or with another owner", row.WorkerID, row.Owner)
		}
		delete(want, row.WorkerID)
	}
}
