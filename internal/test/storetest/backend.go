package storetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/recorder"
)

// A Database is a database under test.
type Database struct {
	// Empty creates a database without tables. It returns a handle, which the test closes, and the
	// DSN for another process.
	Empty func(t *testing.T) (db *sqlx.DB, dsn string)
	// Open returns another handle, which the test closes.
	Open func(t *testing.T, dsn string) *sqlx.DB
	// Down keeps the database from being written to, and may take down all others of the server
	// with it, until up is called.
	Down func(t *testing.T, dsn string) (up func())
	// Addr is the address of the server, as DSNs have it; "": the database has no connections.
	Addr string
	// Kill ends the server without warning and starts it again; nil: it has none, or a shared one.
	Kill func(t *testing.T)
	// Inside returns a handle whose connections are inside a transaction from the start. The test
	// closes it.
	Inside func(t *testing.T, dsn string) *sqlx.DB
	// All runs the cases that do not depend on the dialect, too: one database is enough for them.
	All bool
	// Uncounted creates a WORKER_NODE whose ID does not count by itself but is 0 in every row. With
	// All.
	Uncounted string
	// Block keeps all others from writing to a table, not from reading it, until unblock is called;
	// nil: it cannot do one without the other. Blocked is a query for how many sessions wait for
	// that.
	Block   func(t *testing.T, dsn, table string) (unblock func())
	Blocked string
	// Numbers is the FROM clause that gives the numbers 0 to %d in a column N.
	Numbers string
	// Analyze has the database look at the rows of WORKER_LEASE, Explain begins a query for the
	// plan of a query. Now is the time of its clock.
	Analyze, Explain, Now string
	// Reads returns the number of rows that were read since the server was started; nil: the
	// database does not count.
	Reads func(t *testing.T, db *sqlx.DB) int
	// Hides: a temporary table hides a table from statements with its schema, too.
	Hides bool
}

// Applied returns a new database with all tables.
func (b Database) Applied(t *testing.T) (db *sqlx.DB, dsn string) {
	t.Helper()
	db, dsn = b.Empty(t)
	Apply(t, db)
	return db, dsn
}

// Apply creates the tables, and ends the test on an error.
func Apply(t *testing.T, db *sqlx.DB) {
	t.Helper()
	if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
}

// Renew checks that a lease without a fence can be renewed.
func Renew(t *testing.T, l assigner.Lease) {
	t.Helper()
	if err := l.Renew(t.Context(), 1, 1); err != nil {
		t.Errorf("Renew of worker %d: %v", l.Grant().WorkerID, err)
	}
}

// Assign takes a worker ID with a generous deadline, and ends the test on an error.
func Assign(t *testing.T, a assigner.Assigner) assigner.Lease {
	t.Helper()
	l, err := TryAssign(t, a, 60*time.Second)
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

// Exec runs statements one by one.
func Exec(t *testing.T, db *sqlx.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// separator stands between the parts of a child's argument.
const separator = "\n"

// childArg encodes the assigner of a child process. An empty key means Disposable, leasedKey means
// Leased.
func childArg(key, dsn string) string { return key + separator + dsn }

const leasedKey = "leased"

// Child is for TestMain; see assignertest.Child.
func Child(open func(dsn string) (*sqlx.DB, error)) {
	assignertest.Child(func(arg string) (assigner.Assigner, error) {
		key, dsn, ok := strings.Cut(arg, separator)
		if !ok {
			return nil, fmt.Errorf("argument %q", arg)
		}
		db, err := open(dsn)
		if err != nil {
			return nil, err
		}
		switch key {
		case "":
			return sqlassigner.Disposable(db, sqlassigner.Config{}), nil
		case leasedKey:
			return leased(db), nil
		}
		return sqlassigner.Sticky(db, key, sqlassigner.Config{}), nil
	})
}

// ComesBack starts an assignment while the server is away and has it come back at the first attempt
// that failed.
func ComesBack(t *testing.T, db *sqlx.DB, down, up func()) {
	t.Helper()
	l := Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	down()
	log := recorder.Recorder{First: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := TryAssign(t, sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.Logger()}), 60*time.Second)
		done <- err
		close(done)
	}()
	select {
	case <-log.First:
	case err := <-done:
		t.Errorf("Assign returned %v while the server was away", err)
	}
	up()
	if err := <-done; err != nil {
		t.Errorf("Assign when the server is back: %v", err)
	}
	Renew(t, l)
}

// CheckUndurable checks that a database with these faults is refused, and that AllowUndurable turns
// each into a warning.
func CheckUndurable(t *testing.T, db *sqlx.DB, faults ...string) {
	t.Helper()
	want := strings.Join(faults, ", ")
	for _, a := range []assigner.Assigner{
		sqlassigner.Disposable(db, sqlassigner.Config{}), sqlassigner.Sticky(db, "key", sqlassigner.Config{}),
	} {
		_, err := TryAssign(t, a, 60*time.Second)
		checkText(t, err, assigner.ErrStoreNotDurable, " has "+want+":", "AllowUndurable")
	}
	var log recorder.Recorder
	Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{AllowUndurable: true, Logger: log.TextLogger()}))
	checkUndurableLeases(t, db, faults)
	texts := log.Read()
	if len(texts) != len(faults) {
		t.Errorf("log %q, want %d warnings", texts, len(faults))
		return
	}
	for i, fault := range faults {
		quoted := strconv.Quote(fault)
		if !strings.HasPrefix(texts[i], `level=WARN msg="sqlassigner: `) || !strings.Contains(texts[i], quoted[1:len(quoted)-1]) {
			t.Errorf("log %q, want a warning of %q", texts[i], fault)
		}
	}
}
