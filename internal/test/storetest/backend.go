// Package storetest holds the tests that package sqlassigner has to pass on every database. The
// drivers live in different modules, and so do the tests that call this package with a real one.
package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// A Database is a database under test.
type Database struct {
	// Kind is mariadb, mysql, postgres, pq for the second driver of PostgreSQL, sqlite, or tidb for
	// a server that the test did not start.
	Kind string
	// Start starts another server of the kind.
	Start func(t *testing.T, args ...string) Database
	// Server is the server of all databases. Nil: there is none, or the test did not start it.
	Server *testserver.Server
	// As replaces the user in a DSN.
	As func(dsn, user string) string
	// Empty creates a database without tables. It returns a handle, which the test closes, and the
	// DSN for another process.
	Empty func(t *testing.T) (db *sqlx.DB, dsn string)
	// Open returns another handle, which the test closes.
	Open func(t *testing.T, dsn string) *sqlx.DB
	// Down keeps the database from being written to, and may take down all others of the server
	// with it, until up is called.
	Down func(t *testing.T, dsn string) (up func())
	// Kills: Down ends the server without warning, and up starts it again.
	Kills bool
	// Addr is the address of the server, as DSNs have it; "": the database has no connections.
	Addr string
	// Inside returns a handle whose connections are inside a transaction from the start. The test
	// closes it.
	Inside func(t *testing.T, dsn string) *sqlx.DB
}

// OnServer returns a Database whose databases lie on one server, whose first one has a name.
func OnServer(s *testserver.Server, first string, open func(t *testing.T, dsn string) *sqlx.DB) Database {
	var databases atomic.Int64
	return Database{
		Server: s,
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			name := fmt.Sprintf("test%d", databases.Add(1))
			Exec(t, open(t, s.DSN()), "CREATE DATABASE "+name)
			at := strings.LastIndex(s.DSN(), first)
			dsn := s.DSN()[:at] + name + s.DSN()[at+len(first):]
			return open(t, dsn), dsn
		},
		Open: open,
		Down: func(*testing.T, string) (up func()) {
			s.Kill9()
			return func() { s.Restart() }
		},
		Kills: true,
		Addr:  s.Addr(),
	}
}

// Applied returns a new database with all tables.
func (b Database) Applied(t *testing.T) (db *sqlx.DB, dsn string) {
	t.Helper()
	db, dsn = b.Empty(t)
	Apply(t, db)
	return db, dsn
}

// Opened returns a handle, and closes it when the test ends. Its server may be gone by then.
func Opened(t *testing.T, db *sqlx.DB, err error) *sqlx.DB {
	t.Helper()
	testkit.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Opener returns a func that opens a handle and closes it when the test ends.
func Opener(open func(dsn string) (*sqlx.DB, error)) func(t *testing.T, dsn string) *sqlx.DB {
	return func(t *testing.T, dsn string) *sqlx.DB {
		t.Helper()
		db, err := open(dsn)
		return Opened(t, db, err)
	}
}

// Apply creates the tables, and ends the test on an error.
func Apply(t *testing.T, db *sqlx.DB) {
	t.Helper()
	_, err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}, schema.Groups()...)
	testkit.Must(t, err)
}

// Exec runs statements one by one.
func Exec(t *testing.T, db *sqlx.DB, statements ...string) {
	t.Helper()
	testkit.Must(t, execute(t.Context(), db, statements...))
}

func execute(ctx context.Context, db *sqlx.DB, statements ...string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Session returns a handle with just one connection, on which it has run the statements.
func Session(t *testing.T, db *sqlx.DB, statements ...string) *sqlx.DB {
	t.Helper()
	db.SetMaxOpenConns(1)
	Exec(t, db, statements...)
	return db
}

// Get returns the only value that a query finds.
func Get[T any](t *testing.T, db *sqlx.DB, query string) (value T) {
	t.Helper()
	if err := db.GetContext(t.Context(), &value, query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// namespace is the namespace of the cases.
const namespace = "orders-1.eu_west"

// LeaseStore returns the store that the cases use.
func LeaseStore(db *sqlx.DB) leasestore.Store {
	return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
}

// Leased returns an assigner on the LeaseStore.
func Leased(db *sqlx.DB) assigner.Assigner {
	return assigner.Leased(LeaseStore(db), assigner.LeaseConfig{})
}

// besideNodes is the first worker ID of a namespace that has Disposable in its database.
const besideNodes = 1000

// Kinds are kinds of assigners, which write to all tables of worker IDs. beside and fenced leave
// the low worker IDs to WORKER_NODE.
var Kinds = []string{"disposable", "sticky", "beside", "fenced"}

// Kind returns an assigner of one of Kinds.
func Kind(db *sqlx.DB, kind string, cfg sqlassigner.Config) assigner.Assigner {
	switch kind {
	case "disposable":
		return sqlassigner.Disposable(db, cfg)
	case "sticky":
		return sqlassigner.Sticky(db, "orders", cfg)
	}
	leases := assigner.LeaseConfig{FirstWorkerID: besideNodes, AllowUndurable: cfg.AllowUndurable}
	cfg.AllowUndurable = false
	store := sqlassigner.LeaseStore(db, namespace, cfg)
	if kind == "beside" {
		return assigner.Leased(store, leases)
	}
	leases.Owner = "owner"
	return assigner.Fenced(store, assigner.Static(besideNodes+7), leases)
}

// Undurable accepts databases that may forget commits.
var Undurable = sqlassigner.Config{AllowUndurable: true}

// Identity returns the identity of a server that takes writes.
func Identity(t *testing.T, db *sqlx.DB) string {
	t.Helper()
	return stores.Status(t, LeaseStore(db)).Identity
}

// Assign takes a worker ID with a generous deadline, and ends the test on an error.
func Assign(t *testing.T, a assigner.Assigner) assigner.Lease {
	t.Helper()
	l, err := TryAssign(t, a, time.Minute)
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return l
}

// TryAssign takes a worker ID of the suite's domain.
func TryAssign(t *testing.T, a assigner.Assigner, timeout time.Duration) (assigner.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return a.Assign(ctx, assignertest.Domain())
}

// Renew checks that a lease without a fence can be renewed.
func Renew(t *testing.T, l assigner.Lease) {
	t.Helper()
	if err := stores.Extend(t.Context(), l, 1, 1); err != nil {
		t.Errorf("Renew of worker %d: %v", l.Grant().WorkerID, err)
	}
}

// refused checks that an assigner gives no worker ID, with an error that no retry follows.
func refused(t *testing.T, a assigner.Assigner, sentinel error, parts ...string) {
	t.Helper()
	_, err := TryAssign(t, a, time.Minute)
	stores.WantError(t, err, sentinel, parts...)
}

// CheckUndurable checks that a database with these faults is refused, and that AllowUndurable turns
// each into a warning.
func CheckUndurable(t *testing.T, db *sqlx.DB, faults ...string) {
	t.Helper()
	for _, kind := range []string{"disposable", "sticky"} {
		refused(t, Kind(db, kind, sqlassigner.Config{}), leasestore.ErrNotDurable, " has "+strings.Join(faults, ", ")+":", "AllowUndurable")
	}
	var log testkit.Recorder
	Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{AllowUndurable: true, Logger: log.TextLogger()}))
	status, err := LeaseStore(db).Status(t.Context())
	if err != nil || !slices.Equal(status.Faults, faults) {
		t.Errorf("faults %q, want %q: %v", status.Faults, faults, err)
	}
	refused(t, Kind(db, "beside", sqlassigner.Config{}), leasestore.ErrNotDurable, append(faults, "AllowUndurable")...)
	Assign(t, Kind(db, "beside", Undurable))
	texts := log.Read()
	if !slices.EqualFunc(texts, faults, func(text, fault string) bool {
		return strings.HasPrefix(text, `level=WARN msg="sqlassigner: `) && strings.Contains(text, strings.Trim(strconv.Quote(fault), `"`))
	}) {
		t.Errorf("log %q, want a warning of each of %q", texts, faults)
	}
}
