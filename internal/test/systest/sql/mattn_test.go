//go:build mattn

package sql_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3" // the driver sqlite3

	"github.com/uidring/uidring/internal/test/storetest"
)

// The driver takes a minute to compile, and the driver of ncruces has the same name: .ci/more sets
// the tag.
func TestMattnSQLite(t *testing.T) {
	b := over(sqlite(), func(dsn string) (*sqlx.DB, error) {
		return sqlx.Open("sqlite3", fileOf(dsn)+"?_sync=EXTRA&_busy_timeout=250")
	})
	b.Down = locked(b.Open)
	storetest.Driver(t, b)
}
