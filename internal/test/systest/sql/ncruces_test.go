//go:build ncruces

package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
)

// The driver takes a minute to compile, and the driver of mattn has the same name: .ci/more sets
// the tag.
func TestNcrucesSQLite(t *testing.T) {
	b := over(sqlite(), func(dsn string) (*sqlx.DB, error) {
		db, err := driver.Open("file:" + fileOf(dsn) + "?_pragma=synchronous(extra)")
		return sqlassigner.Wrap(db, sqlassigner.SQLite), err
	})
	b.Down = locked(b.Open)
	storetest.Driver(t, b)
}
