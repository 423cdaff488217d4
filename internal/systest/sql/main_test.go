package sql_test

import (
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/uidring/uidring/internal/test/storetest"
)

func TestMain(m *testing.M) {
	storetest.Child(openDSN)
	storetest.SegmentChild(openDSN)
	os.Exit(m.Run())
}

// openDSN opens PostgreSQL's URLs with pgx and everything else with SQLite.
func openDSN(dsn string) (*sqlx.DB, error) {
	if strings.HasPrefix(dsn, "postgres:") {
		return sqlx.Open("pgx", dsn)
	}
	return sqlx.Open("sqlite", dsn)
}

// open opens a handle that ends with the test.
func open(t *testing.T, dsn string) *sqlx.DB {
	t.Helper()
	db, err := openDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
