package sqlassigner

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/schema"
)

// A dialect is what differs between databases.
type dialect struct {
	name      string                // for people
	bind      int                   // how sqlx writes placeholders
	files     func() []schema.File  // the tables
	client    string                // the command that applies such a file, %s being its name
	returning bool                  // INSERT … RETURNING gives the key, in place of LastInsertId
	times     *strings.Replacer     // see store.sql
	diagnose  func(error) diagnosis // what an error of this database means
	// faults returns the settings that let it forget commits, or errReadOnly when it takes none.
	faults func(ctx context.Context, conn *sqlx.Conn) ([]string, error)
}

// dialectOf knows a database by the name of its driver.
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
		name:     "MySQL",
		bind:     sqlx.QUESTION,
		client:   "mysql your_database < schema/%s",
		files:    schema.MySQL,
		diagnose: diagnoseMySQL,
		faults:   mysqlFaults,
		// A timestamp column converts from the time zone of the session, a datetime column does not.
		times: strings.NewReplacer("{now}", "CURRENT_TIMESTAMP", "{today}", "UTC_DATE()", "{utc}", "UTC_TIMESTAMP(6)"),
	}
}

func sqliteDialect() dialect {
	return dialect{
		name:      "SQLite",
		bind:      sqlx.QUESTION,
		client:    "sqlite3 your.db < schema/%s",
		files:     schema.SQLite,
		returning: true,
		diagnose:  diagnoseSQLite,
		faults:    sqliteFaults,
		times: strings.NewReplacer("{now}", "CURRENT_TIMESTAMP", "{today}", "date('now')",
			"{utc}", "strftime('%Y-%m-%d %H:%M:%f', 'now')"),
	}
}

func postgresDialect() dialect {
	return dialect{
		name:      "PostgreSQL",
		bind:      sqlx.DOLLAR,
		client:    "psql your_database -f schema/%s",
		files:     schema.PostgreSQL,
		returning: true,
		diagnose:  diagnosePostgres,
		faults:    postgresFaults,
		times: strings.NewReplacer("{now}", "CURRENT_TIMESTAMP",
			"{today}", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date", "{utc}", "CURRENT_TIMESTAMP"),
	}
}
