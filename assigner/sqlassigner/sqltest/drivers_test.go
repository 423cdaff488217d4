//go:build drivers

package sqltest

import (
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3" // the driver sqlite3
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/assigner/sqlassigner/internal/storetest"
	"github.com/uidring/uidring/internal/testserver"
)

// These drivers take a minute to compile, so that only .ci/test builds this file.

func TestLeasesOverMattnSQLite(t *testing.T) {
	b := sqliteOver(func(dsn string) (*sqlx.DB, error) { return sqlx.Open("sqlite3", dsn) })
	storetest.LeasesConform(t, b("?_sync=EXTRA"))
	storetest.LeasesConform(t, b("?_journal=WAL&_sync=FULL"))
}

func TestLeasesOverNcrucesSQLite(t *testing.T) {
	b := sqliteOver(func(dsn string) (*sqlx.DB, error) {
		db, err := driver.Open("file:" + dsn)
		return sqlassigner.Wrap(db, sqlassigner.SQLite), err
	})
	storetest.LeasesConform(t, b("?_pragma=synchronous(extra)"))
}

// sqliteOver returns a backend of files that another driver opens, with these parameters.
func sqliteOver(openDSN func(dsn string) (*sqlx.DB, error)) func(params string) storetest.Database {
	return func(params string) storetest.Database {
		b := sqlite()
		b.Open = func(t *testing.T, dsn string) *sqlx.DB {
			t.Helper()
			db, err := openDSN(dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db
		}
		b.Empty = func(t *testing.T) (*sqlx.DB, string) {
			dsn := filepath.Join(testserver.DiskFolder(t), "worker.db") + params
			return b.Open(t, dsn), dsn
		}
		b.Down = func(t *testing.T, dsn string) (unlock func()) {
			writer := b.Open(t, dsn)
			writer.SetMaxOpenConns(1)
			storetest.Exec(t, writer, "BEGIN EXCLUSIVE")
			return func() { storetest.Exec(t, writer, "COMMIT") }
		}
		return b
	}
}
