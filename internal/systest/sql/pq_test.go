package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver postgres

	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestPQ(t *testing.T) {
	t.Parallel()
	storetest.Driver(t, over(postgres(testserver.PostgreSQL(t)), func(dsn string) (*sqlx.DB, error) { return sqlx.Open("postgres", dsn) }))
}

// over returns a database whose handles another driver or another DSN opens.
func over(b storetest.Database, openDSN func(dsn string) (*sqlx.DB, error)) storetest.Database {
	empty := b.Empty
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
		_, dsn := empty(t)
		return b.Open(t, dsn), dsn
	}
	return b
}
