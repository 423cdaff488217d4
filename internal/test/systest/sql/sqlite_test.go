package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// sqlite is a backend whose databases are files. It sets no busy_timeout: package sqlassigner must
// handle concurrent writers.
func sqlite() storetest.Database {
	return storetest.Database{
		Kind: "sqlite",
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			dsn := durable(filepath.Join(testserver.DiskFolder(t), "worker.db"))
			return open(t, dsn), dsn
		},
		Down: locked(open),
		Open: open,
		Inside: func(t *testing.T, dsn string) *sqlx.DB {
			return storetest.Session(t, open(t, dsn), "BEGIN")
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

func TestScriptsOnSQLite(t *testing.T) { storetest.RunScripts(t, sqlite()) }

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

func TestSQLiteFilesRunWithTheClient(t *testing.T) {
	db, dsn := sqlite().Empty(t)
	filesRun(t, db, schema.SQLite, "sqlite3", "sqlite3", "-bail", fileOf(dsn))
}

func TestSQLiteFileInMemoryIsRefused(t *testing.T) {
	folder, err := os.MkdirTemp("/dev/shm", "sqlite-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "worker.db")
	db := open(t, durable(path))
	storetest.Apply(t, db)
	storetest.CheckUndurable(t, db, "the file "+path+" is on tmpfs, a file system in memory (allowed: a local disk)")
	if got := stores.Status(t, sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})).Store; got != "SQLite at "+path {
		t.Errorf("store %q, want its file %s", got, path)
	}
}
