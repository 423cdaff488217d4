package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// namespace is the namespace of the cases.
const namespace = "orders-1.eu_west"

// RunLeases runs the tests of LeaseStore that need no particular server.
func RunLeases(t *testing.T, b Database) {
	b.runCases(t, []storeCase{
		{"Conforms", false, LeasesConform},
		{"Processes", false, LeaseProcesses},
		{"MissingKeyIsRefused", false, missingKey},
		{"ExpiryHasTheDigitsOfTheClock", false, expiryDigits},
		{"AnotherSchemaIsRefused", true, anotherSchema},
		{"ClaimsInALargeNamespaceReadFewRows", false, boundedClaims},
		{"OpenTransactionIsRefused", false, openTransaction},
		{"TransactionThatBeginsIsRefused", false, transactionBegins},
	})
}

// LeaseStore returns the store that the cases use.
func LeaseStore(db *sqlx.DB) leasestore.Store {
	return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
}

// Identity returns the identity of a server that takes writes.
func Identity(t *testing.T, db *sqlx.DB) string {
	t.Helper()
	status, err := LeaseStore(db).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.Identity
}

func leased(db *sqlx.DB) assigner.Assigner {
	return assigner.Leased(LeaseStore(db), assigner.LeaseConfig{})
}

// LeasesConform runs the suite for stores.
func LeasesConform(t *testing.T, b Database) { assignertest.RunStore(t, b.fixtures(t)) }

// LeasesWithstandFaults cuts connections, and kills the server if the Database can.
func LeasesWithstandFaults(t *testing.T, b Database) { assignertest.RunFaults(t, b.fixtures(t)) }

// fixtures returns the fixtures of a suite. They share a database: to create one takes longer than
// most cases.
func (b Database) fixtures(t *testing.T) func(t *testing.T) assignertest.StoreFixture {
	_, dsn := b.Applied(t)
	return func(t *testing.T) assignertest.StoreFixture { return b.fixture(t, dsn) }
}

func (b Database) fixture(t *testing.T, dsn string) assignertest.StoreFixture {
	db := b.Open(t, dsn)
	Exec(t, db, "DELETE FROM WORKER_LEASE", "DELETE FROM WORKER_LEASE_META")
	f := assignertest.StoreFixture{
		Handle: func() leasestore.Store { return LeaseStore(b.Open(t, dsn)) },
		Other: func(name string) leasestore.Store {
			return sqlassigner.LeaseStore(b.Open(t, dsn), name, sqlassigner.Config{})
		},
		Down:        func(t *testing.T) (up func()) { return b.Down(t, dsn) },
		Kill:        b.Kill,
		Unreachable: sqlassigner.ErrUnreachable,
	}
	if b.Addr != "" {
		f.Through = func(w *assignertest.Wire) leasestore.Store {
			return LeaseStore(b.Open(t, strings.Replace(dsn, b.Addr, w.Proxy(t, b.Addr), 1)))
		}
	}
	return f
}

// LeaseProcesses: a process that ends without a release keeps its number until the lease
// expires.
func LeaseProcesses(t *testing.T, b Database) {
	_, dsn := b.Applied(t)
	arg := func(int) string { return childArg(leasedKey, dsn) }
	first := assignertest.Processes(t, processes, arg)
	second := assignertest.Processes(t, processes/5, arg)
	all := slices.Sorted(slices.Values(append(first, second...)))
	if want := processes + processes/5; len(slices.Compact(all)) != want {
		t.Errorf("workers %v at first, then %v; want %d different ones", first, second, want)
	}
}

// missingKey has tables as CREATE TABLE … AS SELECT leaves them. Without the key, two processes
// that start at once would both create the row of a worker ID.
func missingKey(t *testing.T, b Database) {
	for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
		db, _ := b.Applied(t)
		Exec(t, db, "CREATE TABLE COPIED AS SELECT * FROM "+table, "DROP TABLE "+table, "ALTER TABLE COPIED RENAME TO "+table)
		l, err := leased(db).Assign(t.Context(), assignertest.Domain())
		if err == nil || !strings.Contains(err.Error(), "lacks its primary key") {
			t.Errorf("Assign with %s without its key: %v, %v; want an error that says so", table, l, err)
		}
	}
}

// expiryDigits: a row expires exactly its time to live after the swap. SQLite has milliseconds.
func expiryDigits(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	before, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const ttl, digit = time.Minute, time.Millisecond
	if ok, err := s.Swap(t.Context(), leasestore.Row{}, leasestore.Row{WorkerID: 1, Version: 1}, ttl); !ok || err != nil {
		t.Fatalf("Swap: %v, %v", ok, err)
	}
	row, errRow := s.Load(t.Context(), 1)
	after, errAfter := s.Status(t.Context())
	if errRow != nil || errAfter != nil || row.Expires.Before(before.Now.Add(ttl-digit)) || row.Expires.After(after.Now.Add(ttl+digit)) {
		t.Errorf("the row expires at %v, want %v after a time from %v to %v: %v, %v", row.Expires, ttl, before.Now, after.Now, errRow, errAfter)
	}
}

// anotherSchema: a namespace that a later release has changed is refused, and not listed.
func anotherSchema(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, leased(db))
	Assign(t, from(db, "other", 77))
	Exec(t, db, "UPDATE WORKER_LEASE_META SET SCHEMA_VERSION = 2 WHERE NAMESPACE = '"+namespace+"'")
	all, err := LeaseStore(db).(leasestore.Namespaced).Namespaces(t.Context())
	if err != nil || len(all) != 1 || all["other"].FirstWorkerID != 77 {
		t.Errorf("namespaces %+v, want the other one, from 77: %v", all, err)
	}
	_, err = leased(db).Assign(t.Context(), assignertest.Domain())
	checkWithin(t, err, assigner.ErrLayoutMismatch, "SCHEMA_VERSION 2, here 1", fmt.Sprintf("row %q of WORKER_LEASE_META", namespace))
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
