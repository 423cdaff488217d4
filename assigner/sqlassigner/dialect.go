package sqlassigner

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

// A dialect holds the differences between databases.
type dialect struct {
	name       string // shown in errors
	client     string // the command that creates the tables of a group, %s
	files      func(...schema.Group) []schema.File
	quote      string                // of an identifier
	inSchemas  bool                  // relations returns schemas; a name is in lower case
	schema     string                // of all tables; "": relations returns it, or there is none
	relations  string                // see store.relations
	times      *strings.Replacer     // see store.sql
	onConflict bool                  // has INSERT … ON CONFLICT
	returning  bool                  // has INSERT … RETURNING
	showsEarly bool                  // reads show commits that are not on disk yet
	diagnose   func(error) diagnosis // classifies an error of this database
	// look sets the identity and the clock of a server, and the settings and tables that let it
	// forget commits. It returns errReadOnly when the server accepts no commits. It may note facts
	// about the connection in the session.
	look func(ctx context.Context, conn *session, group []table, status *leasestore.Status) error
	// idle returns an error for a connection inside a transaction or without autocommit. On
	// PostgreSQL it also returns errReadOnly for a standby. It may note in the session that the
	// tables of the group are permanent.
	idle func(ctx context.Context, conn *session, group []table) error
	// permanent returns an error for a table that is temporary on this connection; nil: the schema
	// in each statement rules that out.
	permanent func(ctx context.Context, conn *session, group []table) error
	// waiting makes the statements of f wait for a lock; nil: a server makes them wait.
	waiting func(f func(context.Context, *session) error) func(context.Context, *session) error
}

// dialectOf returns the dialect for a driver name.
func dialectOf(driverName string, logger *slog.Logger) (dialect, error) {
	switch driverName {
	case "mysql":
		return mysqlDialect(logger), nil
	case "sqlite", "sqlite3":
		return sqliteDialect(), nil
	case "pgx", "postgres":
		return postgresDialect(logger), nil
	}
	return dialect{}, fmt.Errorf("%w %q, allowed: mysql; sqlite, sqlite3; pgx, postgres; "+
		"give a handle of another name one of these with sqlx.NewDb(db, name)", ErrUnknownDriver, driverName)
}

func openTransaction() error {
	return notDurable("the handle gave a connection that is inside a transaction, whose end may take a worker ID back: end each " +
		"transaction before its connection goes back to the pool, as BeginTx does, which BEGIN in an Exec does not")
}
