package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver postgres

	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

func openPQ(t *testing.T, dsn string) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestLeasesOnPostgreSQLOverPQ(t *testing.T) {
	t.Parallel()
	b := postgres(testserver.PostgreSQL(t))
	empty := b.Empty
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		_, dsn := empty(t)
		return openPQ(t, dsn), dsn
	}
	b.Open = openPQ
	b.Starts = 20
	storetest.LeasesConform(t, b)
}
