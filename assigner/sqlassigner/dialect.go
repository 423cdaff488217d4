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
	name      string                // shown in errors
	bind      int                   // how sqlx writes placeholders
	files     func() []schema.File  // the tables
	quote     string                // of an identifier
	fold      func(string) string   // the form that the database gives to an unquoted name
	client    string                // the command that creates the tables
	returning bool                  // INSERT … RETURNING gives the key, in place of LastInsertId
	times     *strings.Replacer     // see store.sql
	conflict  bool                  // INSERT … ON CONFLICT skips a row that exists; otherwise it fails
	given     []string              // queries for the largest worker ID of WORKER_NODE; the first reads the table itself
	early     bool                  // other connections see a commit before it is on disk
	diagnose  func(error) diagnosis // classifies an error of this database
	// idle returns an error for a connection that is inside a transaction, or starts one with each
	// statement.
	idle func(ctx context.Context, conn *sqlx.Conn) error
	// relations returns the tables with these names and their twins, in any letter case; nil: the
	// database has no twins.
	relations func(ctx context.Context, conn *sqlx.Conn, names []string) ([]relation, error)
	// homes returns the schemas of the tables with these names, and of missing ones; nil: schema is
	// the schema of all, if any.
	homes  func(ctx context.Context, conn *sqlx.Conn, names []string) (found map[string]string, absent string, err error)
	schema string
	// permanent returns an error for a table that is temporary on this connection; nil: the schema
	// in each statement rules that out.
	permanent func(ctx context.Context, conn *sqlx.Conn, group []table) error
	// status sets the identity of a server, and the settings and tables that let it forget commits.
	// It returns errReadOnly when the server accepts no commits. file sets the identity of a file.
	status func(ctx context.Context, conn *sqlx.Conn, group []table, status *leasestore.Status) error
	file   *sqliteFile // nil: the database is a server
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
		bind:      sqlx.QUESTION,
		client:    "uidring schema mysql | mysql your_database",
		files:     schema.MySQL,
		given:     givenNodes(),
		early:     true, // InnoDB makes the commit visible and then writes its log
		diagnose:  diagnoseMySQL,
		quote:     "`",
		fold:      asItIs,
		relations: mysqlRelations,
		permanent: mysqlPermanent,
		idle:      mysqlIdle,
		status:    mysqlStatus,
		// A timestamp column converts from the time zone of the session; a datetime column does
		// not. Without the hint, an UPDATE of a row of a small table may scan the index of
		// EXPIRES_AT, and misses the row if another UPDATE moves its entry back meanwhile, at an
		// isolation level without gap locks.
		times: strings.NewReplacer("{key}", "FORCE INDEX (PRIMARY)", "{folded}", "LOWER(RTRIM(NAMESPACE))", "{now}", "CURRENT_TIMESTAMP", "{today}", "UTC_DATE()", "{utc}", "UTC_TIMESTAMP(6)",
			"{later}", "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND",
			"{clock}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
			"{expires}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', EXPIRES_AT)"),
	}
}

func sqliteDialect() dialect {
	return dialect{
		name:      "SQLite",
		bind:      sqlx.QUESTION,
		client:    "uidring schema sqlite | sqlite3 your.db",
		files:     schema.SQLite,
		returning: true,
		conflict:  true,
		// The name is "main"."WORKER_NODE" here.
		given: append(givenNodes(), "SELECT COALESCE(MAX(seq), 0) AS ID FROM main.sqlite_sequence "+
			`WHERE UPPER(name) = UPPER(TRIM(SUBSTR('WORKER_NODE', 8), '"'))`),
		diagnose: diagnoseSQLite,
		quote:    `"`,
		fold:     asItIs,
		schema:   "main",
		idle:     sqliteIdle,
		status:   sqliteStatus,
		file:     new(sqliteFile),
		times: strings.NewReplacer("{key}", "", "{folded}", "LOWER(RTRIM(NAMESPACE))", "{now}", "CURRENT_TIMESTAMP", "{today}", "date('now')",
			"{utc}", "strftime('%Y-%m-%d %H:%M:%f', 'now')",
			// Its times have milliseconds, its Julian days all digits that these need.
			"{later}", "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', ? / 1000000.0))",
			"{clock}", "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS integer) * 1000",
			"{expires}", "CAST(ROUND((julianday(EXPIRES_AT) - 2440587.5) * 86400000) AS integer) * 1000"),
	}
}

func postgresDialect() dialect {
	return dialect{
		name:      "PostgreSQL",
		bind:      sqlx.DOLLAR,
		client:    "uidring schema postgres | psql your_database",
		files:     schema.PostgreSQL,
		returning: true,
		conflict:  true,
		given:     givenNodes(),
		diagnose:  diagnosePostgres,
		quote:     `"`,
		fold:      strings.ToLower,
		relations: postgresRelations,
		homes:     postgresHomes,
		idle:      postgresIdle,
		status:    postgresStatus,
		times: strings.NewReplacer("{key}", "", "{folded}", `LOWER(RTRIM(NAMESPACE) COLLATE "C")`, "{now}", "CURRENT_TIMESTAMP",
			"{today}", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date", "{utc}", "CURRENT_TIMESTAMP",
			"{later}", "CURRENT_TIMESTAMP + CAST(? AS bigint) * INTERVAL '1 microsecond'",
			"{clock}", "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)",
			"{expires}", "CAST(EXTRACT(EPOCH FROM EXPIRES_AT) * 1000000 AS bigint)"),
	}
}

func asItIs(name string) string { return name }

func givenNodes() []string {
	return []string{"SELECT COALESCE(MAX(ID), 0) AS ID FROM WORKER_NODE", "SELECT COALESCE(MAX(ID), 0) AS ID FROM WORKER_NODE_TOKEN"}
}
