package sqlassigner

import (
	"context"
	"fmt"
	"log/slog"
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
	// idle returns an error for a connection inside a transaction or without autocommit. Other
	// connections would not see its rows, and the end of the transaction might undo them. The
	// transaction stays open, since it belongs to the caller. On PostgreSQL idle also returns
	// errReadOnly for a standby. No other goroutine uses the connection until it is given back, so
	// one check is enough for a call.
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

func openTransaction() error {
	return notDurable("the handle gave a connection that is inside a transaction, whose end may take a worker ID back: end each " +
		"transaction before its connection goes back to the pool, as BeginTx does, which BEGIN in an Exec does not")
}

// status returns the identity of the server or file, and all faults.
func (s *store) status(ctx context.Context, conn *sqlx.Conn, group []table) (status leasestore.Status, err error) {
	err = s.dialect.status(ctx, conn, s.known(group), &status)
	if err == nil && s.dialect.isFile {
		err = s.file.look(ctx, conn, &status)
	}
	return status, err
}

// checkDurable returns an error for a database that may forget commits to these tables, or logs a
// warning with AllowUndurable. things are the rows' contents, for the texts. The package
// documentation lists the settings.
func (s *store) checkDurable(ctx context.Context, conn *sqlx.Conn, group []table, things string) error {
	status, err := s.status(ctx, conn, group)
	if err != nil {
		return err
	}
	if faults := status.Faults; len(faults) > 0 && !s.cfg.AllowUndurable {
		return notDurable("%s has %s: a crash may make it forget %s and hand them out again; correct that, or set Config.AllowUndurable",
			s.dialect.name, strings.Join(faults, ", "), things)
	}
	for _, fault := range status.Faults {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: a crash may make the database hand out "+things+" twice",
			slog.String("database", s.dialect.name), slog.String("fault", fault))
	}
	return nil
}
