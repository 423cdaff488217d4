//go:build ncruces

package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/storetest"
)

// The driver takes a minute to compile, and the driver of mattn has the same name: .ci/test sets
// the tag.
func TestLeasesOverNcrucesSQLite(t *testing.T) {
	b := sqliteOver(func(dsn string) (*sqlx.DB, error) {
		db, err := driver.Open("file:" + dsn)
		return sqlassigner.Wrap(db, sqlassigner.SQLite), err
	})
	storetest.LeasesConform(t, b("?_pragma=synchronous(extra)"))
}
