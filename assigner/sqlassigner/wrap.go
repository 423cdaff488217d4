package sqlassigner

import (
	"database/sql"

	"github.com/jmoiron/sqlx"
)

// A Dialect names a kind of database for [Wrap].
type Dialect string

// The databases of this package. MySQL includes MariaDB.
const (
	MySQL      Dialect = "mysql"
	PostgreSQL Dialect = "postgres"
	SQLite     Dialect = "sqlite"
)

// Wrap returns a handle of database/sql in the form that this package takes. The name of its driver
// does not matter. Both handles share their connections, and closing either closes both. gorm
// returns such a handle from DB.DB, bun has it in the field DB, and ent takes the caller's in
// OpenDB. With another Dialect than the three constants, all calls return [ErrUnknownDriver].
//
// A password that rotates belongs into the driver's connector, which sets it for each new
// connection: mysql.BeforeConnect of go-sql-driver/mysql, stdlib.OptionBeforeConnect of pgx.
func Wrap(db *sql.DB, d Dialect) *sqlx.DB {
	if db == nil {
		return nil
	}
	return sqlx.NewDb(db, string(d))
}
