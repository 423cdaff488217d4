package sql_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// sqlite is a backend whose databases are files. It sets no busy_timeout: package sqlassigner must
// handle concurrent writers.
func sqlite() storetest.Database {
	return storetest.Database{
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			dsn := durable(filepath.Join(testserver.DiskFolder(t), "worker.db"))
			return open(t, dsn), dsn
		},
		Down: locked(open),
		Open: open,
		Inside: func(t *testing.T, dsn string) *sqlx.DB {
			db := open(t, dsn)
			db.SetMaxOpenConns(1)
			storetest.Exec(t, db, "BEGIN")
			return db
		},
	}
}

// durable returns the DSN of a file with the setting that its journal needs, DELETE.
func durable(path string) string { return path + "?_pragma=synchronous(EXTRA)" }

// fileOf returns the path of a durable DSN.
func fileOf(dsn string) string {
	path, _, _ := strings.Cut(dsn, "?")
	return path
}

// locked keeps others from writing and, where the journal is not a write-ahead log, from reading. A
// process may have just one driver's connections to a file.
func locked(open func(t *testing.T, dsn string) *sqlx.DB) func(t *testing.T, dsn string) (unlock func()) {
	return func(t *testing.T, dsn string) (unlock func()) {
		writer := open(t, dsn)
		writer.SetMaxOpenConns(1)
		testkit.Succeeds(t, "BEGIN EXCLUSIVE", func() error { // another writer may be at work
			_, err := writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
			return err
		})
		return func() { storetest.Exec(t, writer, "COMMIT") }
	}
}

func TestSQLite(t *testing.T) { storetest.Run(t, sqlite()) }

func TestSQLiteSegments(t *testing.T) { storetest.RunSegments(t, sqlite()) }

func TestLeasesOnSQLite(t *testing.T) {
	t.Parallel()
	storetest.RunLeases(t, sqlite())
}

// Readers do not wait for a writer. The journal needs no setting beside the default, FULL.
func TestLeasesOnSQLiteWithWriteAheadLog(t *testing.T) {
	t.Parallel()
	b := sqlite()
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		path := filepath.Join(testserver.DiskFolder(t), "worker.db")
		db := open(t, path)
		storetest.Exec(t, db, "PRAGMA journal_mode = WAL") // stays with the file
		return db, path
	}
	storetest.Driver(t, b)
}

// The application may have just one connection, and its busy_timeout stays as it was.
func TestSQLiteWithOneConnection(t *testing.T) {
	for _, timeout := range []int{7, 5000} {
		db, _ := sqlite().Applied(t)
		db.SetMaxOpenConns(1)
		storetest.Exec(t, db, fmt.Sprintf("PRAGMA busy_timeout = %d", timeout))
		for _, a := range []assigner.Assigner{storetest.Disposable(db), storetest.Sticky(db), storetest.Beside(db)} {
			l := storetest.Assign(t, a)
			if err := errors.Join(l.Renew(t.Context(), 1, 1), l.Release(t.Context(), 1)); err != nil {
				t.Error(err)
			}
		}
		if got := storetest.Get[int](t, db, "PRAGMA busy_timeout"); got != timeout {
			t.Errorf("busy_timeout %d after a start, want %d", got, timeout)
		}
	}
}

func TestUndurableSQLiteIsRefusedOrWarnedAbout(t *testing.T) {
	const dsn = "; such as file:ids.db?_pragma=synchronous(EXTRA), with mattn/go-sqlite3 file:ids.db?_synchronous=EXTRA)"
	const unlinked = " with journal_mode=delete (allowed: 3 EXTRA; 2 FULL with journal_mode WAL, TRUNCATE, PERSIST" + dsn
	const memory = "PRAGMA journal_mode=memory (allowed: DELETE, TRUNCATE, PERSIST, WAL)"
	for pragmas, want := range map[string][]string{
		"foreign_keys(1)":                       {"PRAGMA synchronous=2" + unlinked}, // as the driver opens it
		"synchronous(OFF)":                      {"PRAGMA synchronous=0" + unlinked},
		"journal_mode(WAL) synchronous(NORMAL)": {"PRAGMA synchronous=1 (allowed: 2 FULL, 3 EXTRA" + dsn},
		"journal_mode(MEMORY)":                  {memory},
		"journal_mode(OFF) synchronous(1)": {"PRAGMA synchronous=1 (allowed: 2 FULL, 3 EXTRA" + dsn,
			"PRAGMA journal_mode=off (allowed: DELETE, TRUNCATE, PERSIST, WAL)"},
		"synchronous(EXTRA)":     nil,
		"journal_mode(WAL)":      nil,
		"journal_mode(TRUNCATE)": nil,
		"journal_mode(PERSIST)":  nil,
	} {
		t.Run(pragmas, func(t *testing.T) {
			_, dsn := sqlite().Applied(t)
			db := open(t, fileOf(dsn)+"?_pragma="+strings.ReplaceAll(pragmas, " ", "&_pragma="))
			if want != nil {
				storetest.CheckUndurable(t, db, want...)
			} else {
				storetest.Assign(t, storetest.Disposable(db))
			}
		})
	}
	t.Run("in memory", func(t *testing.T) {
		db := open(t, ":memory:")
		db.SetMaxOpenConns(1)
		storetest.Apply(t, db)
		storetest.CheckUndurable(t, db, memory)
	})
}

func TestReadOnlySQLiteIsRefused(t *testing.T) {
	_, dsn := sqlite().Applied(t)
	for _, dsn := range []string{dsn + "&_pragma=query_only(1)", "file:" + dsn + "&mode=ro"} {
		db := open(t, dsn)
		for _, a := range []assigner.Assigner{storetest.Disposable(db), storetest.Sticky(db), storetest.Leased(db)} {
			storetest.Refused(t, a, sqlassigner.ErrAccessDenied)
		}
	}
}

// SQLite does not give out the number of a deleted row again, even if it was the largest. A counter
// that was set back does not lead to a second holder of a number whose token is still there.
func TestSQLiteForgetsNoDeletedNumber(t *testing.T) {
	db, _ := sqlite().Applied(t)
	storetest.Assign(t, storetest.Disposable(db))
	storetest.Exec(t, db, "DELETE FROM WORKER_NODE", "DELETE FROM WORKER_NODE_TOKEN")
	if w := storetest.Assign(t, storetest.Disposable(db)).Grant().WorkerID; w != 2 {
		t.Errorf("worker %d after 1 was deleted, want 2", w)
	}
	storetest.Exec(t, db, "DELETE FROM WORKER_NODE", "UPDATE sqlite_sequence SET seq = 1")
	storetest.RefusedForNow(t, storetest.Kinds(db)["Disposable"], context.Canceled, "raise it above the largest ID of WORKER_NODE_TOKEN")
	storetest.Exec(t, db, "UPDATE sqlite_sequence SET seq = 2")
	if w := storetest.Assign(t, storetest.Disposable(db)).Grant().WorkerID; w != 3 {
		t.Errorf("worker %d after the counter was raised, want 3", w)
	}
}

func TestSQLiteFilesRunWithTheClient(t *testing.T) {
	db, dsn := sqlite().Empty(t)
	filesRun(t, db, schema.SQLite, "sqlite3", "sqlite3", "-bail", fileOf(dsn))
}

// A second generator of the process, and a generator that refuses such a worker ID, neither take
// the row of a live generator nor free it.
func TestRefusedGeneratorDoesNotCostTheHolderItsKey(t *testing.T) {
	db, _ := sqlite().Applied(t)
	key := storetest.Sticky(db)
	holder, err := cached.New(cached.Config{Assigner: key, AllowReuse: true})
	if err != nil {
		t.Fatal(err)
	}
	const token = "SELECT TOKEN FROM WORKER_STICKY"
	held := storetest.Get[string](t, db, token)
	_, errSecond := cached.New(cached.Config{Assigner: key, AllowReuse: true})
	_, errReuse := cached.New(cached.Config{Assigner: storetest.Sticky(db)})
	storetest.WantError(t, errSecond, assigner.ErrWorkerInUse)
	storetest.WantError(t, errReuse, assigner.ErrUnfencedReuse)
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Get[string](t, db, token); got != held || held == "" {
		t.Errorf("the row has token %q, want the holder's %q", got, held)
	}
}
