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
// does not matter. Both handles share their connections, and closing either closes both. The
// libraries gorm, ent and bun have such a handle: gorm returns it from DB.DB, bun has the field DB,
// and ent takes the caller's in OpenDB. With another Dialect than the three constants, all calls
// return [ErrUnknownDriver].
//
// A password that rotates belongs into the driver's connector, which sets it for each new
// connection: mysql.BeforeConnect of go-sql-driver/mysql, stdlib.OptionBeforeConnect of pgx.
//
//	cfg, err := mysql.ParseDSN("ids@tcp(db:3306)/app")
//	…
//	err = cfg.Apply(mysql.BeforeConnect(func(ctx context.Context, cfg *mysql.Config) (err error) {
//		cfg.Passwd, err = currentPassword(ctx)
//		return err
//	}))
//	…
//	connector, err := mysql.NewConnector(cfg)
//	…
//	db := sqlassigner.Wrap(sql.OpenDB(connector), sqlassigner.MySQL)
func Wrap(db *sql.DB, d Dialect) *sqlx.DB {
	if db == nil {
		return nil
	}
	return sqlx.NewDb(db, string(d))
}
