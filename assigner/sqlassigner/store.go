package sqlassigner

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable accepts a database whose settings let it forget commits, which may then give
	// out a worker ID twice. Each such setting is logged as a warning. Use it for tests and for
	// databases in memory. A read-only database is rejected all the same. LeaseStore rejects it:
	// assigner.LeaseConfig.AllowUndurable decides about leases.
	AllowUndurable bool
	// LowerCase uses the names of package schema in lower case, such as worker_node, for tables of
	// Java services that have these names. All processes, and Apply, must agree. It matters to
	// MySQL and MariaDB, where the server may distinguish letter case; PostgreSQL has lower case
	// anyway.
	LowerCase bool
	// Logger receives warnings, and a debug record for each retry; nil: slog.Default(). Its handler
	// must not wait for a connection of this database handle: the call may have the only one.
	Logger *slog.Logger
}

// A store is a database handle with its dialect and configuration. All assigners of this package
// use one. Any number of goroutines may use it at once.
type store struct {
	db      *sqlx.DB
	dialect dialect
	cfg     Config
	err     error   // of the caller's arguments, which each call returns
	group   []table // that the store changes
	home    atomic.Pointer[home]
	afar    atomic.Pointer[[]string] // tables of these names in other schemas, as last seen
}

// newStore joins wrong, an error of further arguments, with the errors of its own.
func newStore(db *sqlx.DB, cfg Config, wrong error, group ...table) *store {
	if db == nil {
		return &store{err: errors.Join(errors.New("sqlassigner: no database handle (nil)"), wrong)}
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	d, err := dialectOf(db.DriverName(), cfg.Logger)
	if err != nil {
		return &store{err: errors.Join(err, wrong)}
	}
	s := &store{db: db, dialect: d, cfg: cfg, err: wrong, group: group}
	s.home.Store(&home{schema: d.schema, found: !d.inSchemas})
	return s
}

// A probe reads whether a statement could change a row now. Processes that compete for a row then
// notice a change without waiting for the lock on the row.
type probe func(ctx context.Context, conn *session) (bool, error)

// count returns a probe for so many rows.
func (s *store) count(rows int, from string, args ...any) probe {
	return func(ctx context.Context, conn *session) (bool, error) {
		var found int
		err := conn.QueryRowxContext(ctx, s.sql("SELECT COUNT(*) FROM "+from), args...).Scan(&found)
		return found == rows, err
	}
}

// unlessKept makes an INSERT skip a row whose key exists, in the databases that can. The
// database rejects the statement if the table lacks the key, where several processes would succeed.
func (s *store) unlessKept(t table) string {
	if !s.dialect.onConflict {
		return ""
	}
	return " ON CONFLICT (" + t.key + ") DO NOTHING"
}

// everyRow ends a query for all rows: the variable sql_select_limit of MySQL shortens others.
const everyRow = " LIMIT 9223372036854775807"

// each runs a query, and scan for each row.
func each(ctx context.Context, conn *session, query string, args []any, scan func(*sqlx.Rows) error) error {
	rows, err := conn.QueryxContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sql translates a statement into the dialect, with the database's table names: ? stands for a
// value, {now} for the time of a timestamp column of WORKER_NODE, {today} for its date, {utc} for
// the time of our own columns, {later} for that time and a value of microseconds; {expires} reads
// the column EXPIRES_AT as microseconds since 1970; {folded} is the column NAMESPACE in lower case;
// {key} after a table makes the statement use its primary key, and {unlocked} after a query skips
// rows that other sessions have locked.
func (s *store) sql(text string) string {
	return s.db.Rebind(s.dialect.times.Replace(inSchema.ReplaceAllStringFunc(text, s.full)))
}

// checkDurable returns an error for a database that may forget commits to these tables, or logs a
// warning with AllowUndurable. things are the rows' contents, for the texts. The package
// documentation lists the settings.
func (s *store) checkDurable(ctx context.Context, conn *session, group []table, things string) error {
	status, err := s.look(ctx, conn, group)
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
	return s.checkIdle(ctx, conn)
}
