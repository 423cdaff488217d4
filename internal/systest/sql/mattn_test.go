//go:build mattn

package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3" // the driver sqlite3

	"github.com/uidring/uidring/internal/testkit/storetest"
)

// The driver takes a minute to compile, and the driver of ncruces has the same name: .ci/test sets
// the tag.
func TestLeasesOverMattnSQLite(t *testing.T) {
	b := sqliteOver(func(dsn string) (*sqlx.DB, error) { return sqlx.Open("sqlite3", dsn) })
	storetest.LeasesConform(t, b("?_sync=EXTRA&_busy_timeout=250"))
}
