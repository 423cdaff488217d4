//go:build mattn || ncruces

package sql_test

import (
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

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
