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
		{"NamespacesOfAnotherSchemaAreNotListed", namespacesListed},
		{"TwinsOfANamespaceAreNoticed", namespaceTwins},
		{"MissingTableNamesTheRemedy", missingLeaseTable},
		{"MissingKeyIsRefused", missingKey},
		{"TextThatDoesNotFitIsRefused", unfitText},
		{"ExpiryHasTheDigitsOfTheClock", expiryDigits},
		{"AnotherSchemaIsRefused", anotherSchema},
		{"ClaimsInALargeNamespaceReadFewRows", boundedClaims},
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
func LeasesConform(t *testing.T, b Database) { assignertest.RunStore(t, b.fixture) }

// LeasesWithstandFaults cuts connections, and kills the server if the Database can.
func LeasesWithstandFaults(t *testing.T, b Database) { assignertest.RunFaults(t, b.fixture) }

func (b Database) fixture(t *testing.T) assignertest.StoreFixture {
	const own = " WHERE NAMESPACE = '" + namespace + "'"
	db, dsn := b.Applied(t)
	f := assignertest.StoreFixture{
		Handle: func() assigner.Store { return LeaseStore(b.Open(t, dsn)) },
		Other: func(name string) assigner.Store {
			return sqlassigner.LeaseStore(b.Open(t, dsn), name, sqlassigner.Config{})
		},
		Delete: func(t *testing.T, workerID int64) {
			Exec(t, db, fmt.Sprintf("DELETE FROM WORKER_LEASE"+own+" AND WORKER_ID = %d", workerID))
		},
		Clear: func(t *testing.T) {
			Exec(t, db, "DELETE FROM WORKER_LEASE"+own, "DELETE FROM WORKER_LEASE_META"+own)
		},
		Down:        func(t *testing.T) (up func()) { return b.Down(t, dsn) },
		Starts:      b.Starts,
		Kill:        b.Kill,
		Unreachable: sqlassigner.ErrUnreachable,
	}
	if b.Addr != "" {
		f.Through = func(w *assignertest.Wire) assigner.Store {
			return LeaseStore(b.Open(t, strings.Replace(dsn, b.Addr, w.Proxy(t, b.Addr), 1)))
		}
	}
	return f
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

func missingLeaseTable(t *testing.T, b Database) {
	for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
		db, _ := b.Applied(t)
		Exec(t, db, "DROP TABLE "+table)
		_, err := leased(db).Assign(t.Context(), assignertest.Domain())
		checkWithin(t, err, sqlassigner.ErrTableMissing, "sqlassigner.Apply, or with uidring schema ", strings.ToLower(table))
		Apply(t, db)
		Assign(t, leased(db))
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

// expiryDigits: a row expires exactly its time to live after the swap. SQLite has milliseconds.
func expiryDigits(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	before, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const ttl, digit = time.Minute, time.Millisecond
	if ok, err := s.Swap(t.Context(), assigner.Row{}, assigner.Row{WorkerID: 1, Version: 1}, ttl); !ok || err != nil {
		t.Fatalf("Swap: %v, %v", ok, err)
	}
	row, errRow := s.Load(t.Context(), 1)
	after, errAfter := s.Status(t.Context())
	if errRow != nil || errAfter != nil || row.Expires.Before(before.Now.Add(ttl-digit)) || row.Expires.After(after.Now.Add(ttl+digit)) {
		t.Errorf("the row expires at %v, want %v after a time from %v to %v: %v, %v", row.Expires, ttl, before.Now, after.Now, errRow, errAfter)
	}
}

func anotherSchema(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, leased(db))
	Exec(t, db, "UPDATE WORKER_LEASE_META SET SCHEMA_VERSION = 2")
	_, err := leased(db).Assign(t.Context(), assignertest.Domain())
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
