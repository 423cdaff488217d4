package sql_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
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

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	testkit.Must(t, err)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	testkit.Must(t, os.Rename(from, to))
}

// A copy may lack later grants of the original, so its worker IDs are quarantined.
func TestCopiedSQLiteFileIsQuarantined(t *testing.T) {
	db, dsn := sqlite().Applied(t)
	lease := storetest.Assign(t, storetest.Leased(db))
	first := storetest.Identity(t, db)
	testkit.Must(t, errors.Join(lease.End(t.Context(), assigner.Ending{Released: true}), db.Close()))
	path := fileOf(dsn)
	copied, moved := path+"-copy", path+"-moved"
	copyFile(t, copied, path)
	rename(t, path, moved)
	again := open(t, durable(moved))
	if got := storetest.Identity(t, again); got != first || first == "" {
		t.Errorf("identity %q under another name, was %q", got, first)
	}
	storetest.Assign(t, storetest.Leased(again))

	other := open(t, durable(copied))
	if got := storetest.Identity(t, other); got == first || got == "" {
		t.Errorf("identity %q of a copy, the original has %q", got, first)
	}
	storetest.Refused(t, storetest.Leased(other), assigner.ErrQuarantined)
}

func TestSQLiteFileThatIsReplacedWhileOpenIsRefused(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, path, away string){
		"moved":         func(*testing.T, string, string) {},
		"its copy":      copyFile,
		"another store": func(t *testing.T, path, _ string) { storetest.Apply(t, open(t, durable(path))) },
		"deleted":       func(t *testing.T, _, away string) { rename(t, away, away+"2") },
	} {
		for _, journal := range []string{"DELETE", "WAL", "PERSIST"} {
			t.Run(name+" "+journal, func(t *testing.T) {
				db, dsn := sqlite().Applied(t)
				storetest.Exec(t, db, "PRAGMA journal_mode = "+journal)
				s := storetest.LeaseStore(db)
				a := assigner.Leased(s, assigner.LeaseConfig{})
				lease := storetest.Assign(t, a)
				path := fileOf(dsn)
				away := path + "-away"
				rename(t, path, away)
				replace(t, path, away)
				_, errStatus := s.Status(t.Context())
				_, errAssign := storetest.TryAssign(t, a, time.Minute)
				for _, err := range []error{errStatus, errAssign, storetest.Extend(t.Context(), lease, 1, 2)} {
					checkMoved(t, err, path)
				}
				if name == "moved" && journal == "DELETE" { // SQLite itself notices the change between a check and a write
					storetest.WantError(t, lease.End(t.Context(), assigner.Ending{Released: true}), leasestore.ErrDamaged, "moved, replaced or deleted")
				}
			})
		}
	}
}

func checkMoved(t *testing.T, err error, path string) {
	t.Helper()
	storetest.WantError(t, err, leasestore.ErrDamaged, "the file "+path+" was moved, replaced or deleted while it was open")
}

// The pool may have a connection to a file that was replaced before the store is used.
func TestSQLiteFileThatWasReplacedBeforeTheFirstLookIsRefused(t *testing.T) {
	db, dsn := sqlite().Applied(t)
	path := fileOf(dsn)
	rename(t, path, path+"-away")
	copyFile(t, path, path+"-away")
	_, err := storetest.LeaseStore(db).Status(t.Context())
	checkMoved(t, err, path)
}

// A connection that is opened after a change of the working folder leads to another file.
func TestSQLiteFileWithARelativePathIsTheFirstOne(t *testing.T) {
	t.Chdir(testserver.DiskFolder(t))
	db := open(t, durable("worker.db"))
	storetest.Apply(t, db)
	s := storetest.LeaseStore(db)
	if _, err := s.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := filepath.Abs("worker.db")
	testkit.Must(t, err)
	t.Chdir(testserver.DiskFolder(t))
	db.SetMaxIdleConns(-1) // closes the idle connections
	storetest.Apply(t, db)
	_, err = s.Status(t.Context())
	checkMoved(t, err, first)
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
}

// Each path has a write-ahead log of its own.
func TestSQLiteFileWithASecondPathIsRefused(t *testing.T) {
	_, dsn := sqlite().Applied(t)
	path := fileOf(dsn)
	testkit.Must(t, os.Link(path, path+"-link"))
	storetest.CheckUndurable(t, open(t, dsn), "the file "+path+" has 2 hard links (allowed: 1; the other path leads to another store "+
		"with the same worker IDs)")
}
