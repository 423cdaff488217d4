package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// namespace is the namespace of the cases.
const namespace = "orders-1.eu_west"

// RunLeases runs the tests of LeaseStore that need no particular server.
func RunLeases(t *testing.T, b Database) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Database)
	}{
		{"Conforms", LeasesConform},
		{"FiftyProcesses", fiftyProcessesWithLeases},
		{"NamespacesAreApart", namespacesApart},
		{"NamespacesAreListed", namespacesListed},
		{"NamespacesThatLookAlikeAreRefused", namespacesAlike},
		{"NamespacesThatLookAlikeAtOnce", namespacesAlikeAtOnce},
		{"MissingTableNamesItsFile", missingLeaseTable},
		{"LargestNumbersAndEqualSwaps", EqualSwaps},
		{"TextThatDoesNotFitIsRefused", unfitText},
		{"AnotherSchemaIsRefused", anotherSchema},
		{"DeletedNamespaceIsNoticed", deletedNamespace},
		{"RecoveryAfterARestore", recovery},
		{"ClaimsInALargeNamespaceReadFewRows", boundedClaims},
		{"FreeRowsAreCreatedAtOnce", createFree},
		{"OpenTransactionIsRefused", openTransaction},
		{"TransactionThatBeginsIsRefused", transactionBegins},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b) })
	}
}

// LeaseStore returns the store that the cases use.
func LeaseStore(db *sqlx.DB) assigner.Store {
	return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
}

func leased(db *sqlx.DB) assigner.Assigner {
	return assigner.Leased(LeaseStore(db), assigner.LeaseConfig{})
}

// LeasesConform runs the suite for stores.
func LeasesConform(t *testing.T, b Database) {
	assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture {
		db, dsn := b.Applied(t)
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return LeaseStore(b.Open(t, dsn)) },
			Other:  func() assigner.Store { return sqlassigner.LeaseStore(b.Open(t, dsn), "another", sqlassigner.Config{}) },
			Delete: func(t *testing.T, workerID int64) { deleteLease(t, db, workerID) },
			Clear: func(t *testing.T) {
				Exec(t, db, "DELETE FROM WORKER_LEASE", "DELETE FROM WORKER_LEASE_META")
			},
			Down:   func(t *testing.T) (up func()) { return b.Down(t, dsn) },
			Starts: b.Starts,
		}
	})
}

// fiftyProcessesWithLeases: a process that ends without a release keeps its number until the lease
// expires.
func fiftyProcessesWithLeases(t *testing.T, b Database) {
	_, dsn := b.Applied(t)
	arg := func(int) string { return childArg(leasedKey, dsn) }
	first := assignertest.Processes(t, processes, arg)
	second := assignertest.Processes(t, processes/5, arg)
	all := slices.Sorted(slices.Values(append(first, second...)))
	if want := processes + processes/5; len(slices.Compact(all)) != want {
		t.Errorf("workers %v at first, then %v; want %d different ones", first, second, want)
	}
}

func namespacesApart(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	fences := make(map[string]int64)
	for _, name := range []string{"a", "b", strings.Repeat("x", 64), "0.-_"} {
		s := sqlassigner.LeaseStore(db, name, sqlassigner.Config{})
		l := Assign(t, assigner.Leased(s, assigner.LeaseConfig{}))
		g := l.Grant()
		if g.WorkerID != 0 {
			t.Errorf("first worker of namespace %q is %d, want 0", name, g.WorkerID)
		}
		if err := l.Renew(t.Context(), g.Limit, g.Limit+int64(len(fences))*1000); err != nil {
			t.Errorf("Renew: %v", err)
		}
		fences[name] = l.Grant().Limit
	}
	for name, fence := range fences {
		rows, err := sqlassigner.LeaseStore(db, name, sqlassigner.Config{}).List(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Fence != fence {
			t.Errorf("namespace %q has rows %+v, want one with fence %d: %v", name, rows, fence, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 65), "a b", "a ", " a", "a\t", "ä", "a/b", "a\x00"} {
		_, err := TryAssign(t, assigner.Leased(sqlassigner.LeaseStore(db, name, sqlassigner.Config{}), assigner.LeaseConfig{}), time.Minute)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q, allowed: 1 to 64 of the characters", name)) {
			t.Errorf("Assign in namespace %q: %v, want an error that says what is allowed", name, err)
		}
	}
}

func missingLeaseTable(t *testing.T, b Database) {
	for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
		db, _ := b.Applied(t)
		Exec(t, db, "DROP TABLE "+table)
		_, err := leased(db).Assign(t.Context(), assignertest.Domain())
		checkWithin(t, err, sqlassigner.ErrTableMissing, "schema/"+b.LeaseFile+" ", "sqlassigner.Apply", strings.ToLower(table))
		if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
			t.Fatal(err)
		}
		Assign(t, leased(db))
	}
}

// EqualSwaps makes swaps that change nothing, of the largest numbers and the longest texts: a
// database may count only rows whose values differ.
func EqualSwaps(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	token, identity := strings.Repeat("T", 64), strings.Repeat("é", 128)
	row := assigner.Row{WorkerID: math.MaxInt64, Version: math.MaxInt64, Fence: math.MaxInt64, Token: token, Owner: "業務 ☃ 🦫", Identity: identity}
	meta := assigner.Meta{Version: math.MaxInt64, Namespace: token, NextWorkerID: math.MaxInt64, DatacenterID: math.MaxInt64,
		Fence: math.MaxInt64, Token: token, Identity: identity, Epoch: time.UnixMilli(1).UTC()}
	oldRow, oldMeta := assigner.Row{}, assigner.Meta{}
	for i := range 30 {
		if ok, err := s.Swap(t.Context(), oldRow, row, 0); !ok || err != nil {
			t.Fatalf("swap %d of a row for its like: %v, %v", i, ok, err)
		}
		if ok, err := s.SwapMeta(t.Context(), oldMeta, meta); !ok || err != nil {
			t.Fatalf("swap %d of the meta row for its like: %v, %v", i, ok, err)
		}
		oldRow, oldMeta = row, meta
	}
	got, err := s.Load(t.Context(), row.WorkerID)
	row.Expires = got.Expires
	if err != nil || got != row {
		t.Errorf("row %+v, want %+v: %v", got, row, err)
	}
	if got, err := s.LoadMeta(t.Context()); err != nil || got != meta {
		t.Errorf("meta %+v, want %+v: %v", got, meta, err)
	}
}

func unfitText(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	row := assigner.Row{Version: 1, Fence: 1, Token: "T", Owner: "O"}
	if ok, err := s.Swap(t.Context(), assigner.Row{}, row, time.Hour); !ok || err != nil {
		t.Fatalf("Swap: %v, %v", ok, err)
	}
	for _, tt := range []struct {
		change func(*assigner.Row)
		want   string
	}{
		{func(r *assigner.Row) { r.Owner = strings.Repeat("é", 256) }, "(256 characters), allowed: up to 255"},
		{func(r *assigner.Row) { r.Owner = "a\x00b" }, `Owner is "a\x00b"`},
		{func(r *assigner.Row) { r.Owner = "a\xff" }, `Owner is "a\xff"`},
		{func(r *assigner.Row) { r.Identity = strings.Repeat("x", 129) }, "(129 characters), allowed: up to 128"},
		{func(r *assigner.Row) { r.Token = strings.Repeat("x", 65) }, "Token is"},
		{func(r *assigner.Row) { r.Token = "T " }, `Token is "T "`},
		{func(r *assigner.Row) { r.Token = "é" }, `Token is "é"`},
	} {
		next := row
		tt.change(&next)
		for _, old := range []assigner.Row{row, {}} {
			if ok, err := s.Swap(t.Context(), old, next, time.Hour); ok || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Swap: %v, %v; want an error with %q", ok, err, tt.want)
			}
		}
	}
	for _, tt := range []struct {
		meta assigner.Meta
		want string
	}{
		{assigner.Meta{Namespace: "a b"}, `Namespace is "a b"`},
		{assigner.Meta{Token: strings.Repeat("x", 65)}, "Token is"},
		{assigner.Meta{Token: "T "}, `Token is "T "`},
		{assigner.Meta{Identity: strings.Repeat("é", 129)}, "(129 characters), allowed: up to 128"},
		{assigner.Meta{Identity: "a\x00b"}, `Identity is "a\x00b"`},
	} {
		tt.meta.Version = 1
		for _, old := range []assigner.Meta{{Version: 1}, {}} {
			if ok, err := s.SwapMeta(t.Context(), old, tt.meta); ok || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("SwapMeta: %v, %v; want an error with %q", ok, err, tt.want)
			}
		}
	}
	if meta, err := s.LoadMeta(t.Context()); err != nil || meta != (assigner.Meta{}) {
		t.Errorf("meta %+v, want none: %v", meta, err)
	}
	if rows, err := s.List(t.Context()); err != nil || len(rows) != 1 || rows[0].Owner != "O" {
		t.Errorf("rows %+v, want the one that was there: %v", rows, err)
	}
}

func deleteLease(t *testing.T, db *sqlx.DB, workerID int64) {
	t.Helper()
	Exec(t, db, fmt.Sprintf("DELETE FROM WORKER_LEASE WHERE NAMESPACE = '%s' AND WORKER_ID = %d", namespace, workerID))
}

func anotherSchema(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, leased(db))
	Exec(t, db, "UPDATE WORKER_LEASE_META SET SCHEMA_VERSION = 2")
	_, err := leased(db).Assign(t.Context(), assignertest.Domain())
	checkWithin(t, err, assigner.ErrLayoutMismatch, "SCHEMA_VERSION 2, here 1", fmt.Sprintf("row %q of WORKER_LEASE_META", namespace))
}

func deletedNamespace(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	l := Assign(t, leased(db))
	Exec(t, db, "DELETE FROM WORKER_LEASE")
	checkWithin(t, l.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowMissing)
	Exec(t, db, "DELETE FROM WORKER_LEASE_META")
	other := Assign(t, leased(db))
	Exec(t, db, "DELETE FROM WORKER_LEASE")
	checkWithin(t, l.Renew(t.Context(), 1, 1), assigner.ErrNamespaceRecreated)
	checkWithin(t, other.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowMissing)
}

// recovery restores a backup, in which a fence is old and a number is missing. It leaves other
// namespaces alone.
func recovery(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	apart := sqlassigner.LeaseStore(db, "another", sqlassigner.Config{})
	spared := Assign(t, assigner.Leased(apart, assigner.LeaseConfig{}))
	old, late := Assign(t, leased(db)), Assign(t, leased(db))
	deleteLease(t, db, late.Grant().WorkerID)
	Exec(t, db, "UPDATE WORKER_LEASE SET FENCE = 5 WHERE NAMESPACE = '"+namespace+"'",
		"UPDATE WORKER_LEASE_META SET NEXT_WORKER_ID = 1 WHERE NAMESPACE = '"+namespace+"'")
	if err := assigner.Recover(t.Context(), LeaseStore(db), time.Hour); err != nil {
		t.Fatal(err)
	}
	fence := assignertest.Domain().Now() + 3600 - 60
	for range 2 {
		g := Assign(t, leased(db)).Grant()
		if known := g.WorkerID == old.Grant().WorkerID || g.WorkerID == late.Grant().WorkerID; !known || g.First < fence {
			t.Errorf("grant %+v, want one of the workers before, above %d", g, fence)
		}
	}
	for _, l := range []assigner.Lease{old, late} {
		checkWithin(t, l.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowLost)
	}
	wantFence(t, apart, spared, 1)
}

// checkWithin is checkText for an error that package assigner has wrapped.
func checkWithin(t *testing.T, err, sentinel error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v", sentinel)
		return
	}
	if i := strings.Index(err.Error(), sentinel.Error()); i > 0 {
		err = trimmed{err, i}
	}
	checkText(t, err, sentinel, parts...)
}

// trimmed is an error without the beginning of its text.
type trimmed struct {
	error
	from int
}

func (e trimmed) Error() string { return e.error.Error()[e.from:] }
func (e trimmed) Unwrap() error { return e.error }

// checkUndurableLeases checks that the store reports the faults, and that leases are refused unless
// told otherwise.
func checkUndurableLeases(t *testing.T, db *sqlx.DB, faults []string) {
	t.Helper()
	status, err := LeaseStore(db).Status(t.Context())
	if err != nil || !slices.Equal(status.Faults, faults) {
		t.Errorf("faults %q, want %q: %v", status.Faults, faults, err)
	}
	_, err = TryAssign(t, leased(db), time.Minute)
	checkText(t, err, assigner.ErrStoreNotDurable, append(faults, "AllowUndurable")...)
	Assign(t, assigner.Leased(LeaseStore(db), assigner.LeaseConfig{AllowUndurable: true, FirstWorkerID: 1000}))
}

// createFree creates rows beside a held row, which stays unchanged.
func createFree(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	held := Assign(t, leased(db)).Grant().WorkerID
	before, err := s.Load(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	const n = 256
	rows := make([]assigner.Row, n)
	for i := range rows {
		rows[i] = assigner.Row{WorkerID: held + int64(i), Version: 1, Fence: 7}
	}
	bulk := s.(interface {
		CreateFree(ctx context.Context, rows []assigner.Row, ttl time.Duration) error
	})
	for range 2 {
		if err := bulk.CreateFree(t.Context(), rows, -time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if free, err := s.Expired(t.Context(), 2*n); err != nil || len(free) != n-1 {
		t.Errorf("%d rows have expired, want %d: %v", len(free), n-1, err)
	}
	if after, err := s.Load(t.Context(), held); err != nil || after != before {
		t.Errorf("row %+v, was %+v: %v", after, before, err)
	}
	if err := bulk.CreateFree(t.Context(), nil, 0); err != nil {
		t.Errorf("no rows: %v", err)
	}
}
