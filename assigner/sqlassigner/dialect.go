package sqlassigner

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

// A dialect holds the differences between databases.
type dialect struct {
	name      string // shown in errors
	client    string // the command that creates the tables of a group, %s
	files     func(...schema.Group) []schema.File
	quote     string                // of an identifier
	inSchemas bool                  // relations returns schemas; a name is in lower case
	schema    string                // of all tables; "": relations returns it, or there is none
	relations string                // see store.relations
	times     *strings.Replacer     // see store.sql
	conflict  bool                  // has INSERT … ON CONFLICT and RETURNING, and shows no commit before it is on disk
	diagnose  func(error) diagnosis // classifies an error of this database
	// idle returns an error for a connection that is inside a transaction, or starts one with each
	// statement.
	idle func(ctx context.Context, conn *sqlx.Conn) error
	// permanent returns an error for a table that is temporary on this connection; nil: the schema
	// in each statement rules that out.
	permanent func(ctx context.Context, conn *sqlx.Conn, group []table) error
	// status sets the identity of a server, and the settings and tables that let it forget commits.
	// It returns errReadOnly when the server accepts no commits.
	status func(ctx context.Context, conn *sqlx.Conn, group []table, status *leasestore.Status) error
	isFile bool // the database is a file, which has the identity
}

// dialectOf returns the dialect for a driver name.
func dialectOf(driverName string) (dialect, error) {
	switch driverName {
	case "mysql":
		return mysqlDialect(), nil
	case "sqlite", "sqlite3":
		return sqliteDialect(), nil
	case "pgx", "postgres":
		return postgresDialect(), nil
	}
	return dialect{}, fmt.Errorf("%w %q, allowed: mysql; sqlite, sqlite3; pgx, postgres; "+
		"give a handle of another name one of these with sqlx.NewDb(db, name)", ErrUnknownDriver, driverName)
}

func mysqlDialect() dialect {
	return dialect{
		name:      "MySQL",
		client:    "uidring schema mysql %s | mysql your_database",
		files:     schema.MySQL,
		quote:     "`",
		relations: mysqlRelations,
		// A timestamp column converts from the time zone of the session; a datetime column does
		// not. Without the hint, an UPDATE of a row of a small table may scan the index of
		// EXPIRES_AT, and misses the row if another UPDATE moves its entry back meanwhile, at an
		// isolation level without gap locks.
		times: strings.NewReplacer("{key}", "FORCE INDEX (PRIMARY)", "{folded}", "LOWER(RTRIM(NAMESPACE))",
			"{now}", "CURRENT_TIMESTAMP", "{today}", "UTC_DATE()", "{utc}", "UTC_TIMESTAMP(6)",
			"{later}", "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND",
			"{clock}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
			"{expires}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', EXPIRES_AT)"),
		diagnose:  diagnoseMySQL,
		idle:      mysqlIdle,
		permanent: mysqlPermanent,
		status:    mysqlStatus,
	}
}

func postgresDialect() dialect {
	return dialect{
		name:      "PostgreSQL",
		client:    "uidring schema postgres %s | psql your_database",
		files:     schema.PostgreSQL,
		quote:     `"`,
		inSchemas: true,
		relations: postgresRelations,
		conflict:  true,
		times: strings.NewReplacer("{key}", "", "{folded}", `LOWER(RTRIM(NAMESPACE) COLLATE "C")`, "{now}", "CURRENT_TIMESTAMP",
			"{today}", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date", "{utc}", "CURRENT_TIMESTAMP",
			"{later}", "CURRENT_TIMESTAMP + CAST(? AS bigint) * INTERVAL '1 microsecond'",
			"{clock}", "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)",
			"{expires}", "CAST(EXTRACT(EPOCH FROM EXPIRES_AT) * 1000000 AS bigint)"),
		diagnose: diagnosePostgres,
		idle:     postgresIdle,
		status:   postgresStatus,
	}
}

func sqliteDialect() dialect {
	return dialect{
		name:      "SQLite",
		client:    "uidring schema sqlite %s | sqlite3 your.db",
		files:     schema.SQLite,
		quote:     `"`,
		schema:    "main",
		relations: sqliteRelations,
		conflict:  true,
		times: strings.NewReplacer("{key}", "", "{folded}", "LOWER(RTRIM(NAMESPACE))", "{now}", "CURRENT_TIMESTAMP",
			"{today}", "date('now')", "{utc}", "strftime('%Y-%m-%d %H:%M:%f', 'now')",
			// Its times have milliseconds, its Julian days all digits that these need.
			"{later}", "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', ? / 1000000.0))",
			"{clock}", "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS integer) * 1000",
			"{expires}", "CAST(ROUND((julianday(EXPIRES_AT) - 2440587.5) * 86400000) AS integer) * 1000"),
		diagnose: diagnoseSQLite,
		idle:     sqliteIdle,
		status:   sqliteStatus,
		isFile:   true,
	}
}
