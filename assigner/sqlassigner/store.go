package sqlassigner

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable accepts a database whose settings let it forget commits, which may then give
	// out a worker ID twice. Each such setting is logged as a warning. Use it for tests and for
	// databases in memory. A read-only database is rejected all the same. Leases do
	// not use it, but the AllowUndurable of assigner.LeaseConfig.
	AllowUndurable bool
	// LowerCase uses the names of package schema in lower case, such as worker_node, for tables of
	// Java services that have these names. All processes, and Apply, must agree. It matters to
	// MySQL and MariaDB, where the server may distinguish letter case; PostgreSQL has lower case
	// anyway.
	LowerCase bool
	// Logger receives a warning for each setting that AllowUndurable lets pass, and a record at
	// debug level for each retry. Nil: none are logged.
	Logger *slog.Logger
}

// callTimeout bounds a call whose context has no deadline of its own.
const callTimeout = 10 * time.Second

// A store is a database handle with its dialect and configuration. All assigners of this package
// use one. Any number of goroutines may use it at once.
type store struct {
	db      *sqlx.DB
	dialect dialect
	cfg     Config
	err     error // of the caller's arguments, which each call returns
	home    atomic.Pointer[home]
	afar    atomic.Pointer[[]string] // tables of these names in other schemas, as last seen
	file    sqliteFile               // of SQLite
}

// newStore joins wrong, an error of further arguments, with the errors of its own.
func newStore(db *sqlx.DB, cfg Config, wrong error) *store {
	if db == nil {
		return &store{err: errors.Join(errors.New("sqlassigner: no database handle (nil)"), wrong)}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := dialectOf(db.DriverName())
	if err != nil {
		return &store{err: errors.Join(err, wrong)}
	}
	s := &store{db: db, dialect: d, cfg: cfg, err: wrong}
	s.home.Store(&home{schema: d.schema, found: !d.inSchemas})
	return s
}

// do runs f on one connection outside any transaction, retries it after a temporary error, and
// explains the last error. f must be safe to repeat when it may have taken effect, or return an
// unsure error.
func (s *store) do(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error) error {
	if s.err != nil {
		return s.err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	if s.dialect.isFile {
		f = sqliteWaiting(f)
	}
	tries, err := retry(ctx, func() error { return s.try(ctx, f) }, func(err error) bool {
		if _, ok := errors.AsType[unsure](err); ok || !s.dialect.diagnose(err).passes {
			return false
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "sqlassigner: trying again", slog.String("to", what), slog.Any("error", err))
		return true
	})
	if err == nil {
		return nil
	}
	return s.explain(ctx, what, tries, err)
}

// An unsure error is the error of a statement that may have taken effect, and must not be repeated.
type unsure struct{ error }

func (u unsure) Unwrap() error { return u.error }

// ask is do for an f with a result, which is zero with an error.
func ask[T any](ctx context.Context, s *store, what string, f func(context.Context, *sqlx.Conn) (T, error)) (result T, err error) {
	err = s.do(ctx, what, func(ctx context.Context, conn *sqlx.Conn) (err error) {
		result, err = f(ctx, conn)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// try runs f once. It drops a connection to a read-only server from the pool: after a failover the
// next connection reaches the new primary.
func (s *store) try(ctx context.Context, f func(context.Context, *sqlx.Conn) error) error {
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // back to the pool
	err = s.dialect.idle(ctx, conn)
	if err == nil {
		err = s.locate(ctx, conn)
	}
	if err == nil {
		err = f(ctx, conn)
	}
	if s.dialect.diagnose(err).sentinel == leasestore.ErrNotDurable {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool drops it
	}
	return err
}

// A probe reads whether a statement could change a row now. Processes that compete for a row then
// notice a change without waiting for the lock on the row.
type probe func(ctx context.Context, conn *sqlx.Conn) (bool, error)

// swap runs a statement that changes at most one row of t, in autocommit, and reports whether it
// changed one. ready, unless nil, comes first. swap does not retry a statement that may have taken
// effect: the retry would meet the changed row and report false.
func (s *store) swap(ctx context.Context, what string, t table, ready probe, statement string, args ...any) (bool, error) {
	return ask(ctx, s, what, func(ctx context.Context, conn *sqlx.Conn) (bool, error) {
		if ready != nil {
			if ok, err := ready(ctx, conn); !ok || err != nil {
				return false, err
			}
		}
		if err := s.permanent(ctx, conn, []table{t}); err != nil {
			return false, err
		}
		changed, err := s.exec(ctx, conn, statement, args...)
		switch d := s.dialect.diagnose(err); {
		case d.exists:
			return false, nil
		case err != nil && !d.undone:
			return false, unsure{err}
		}
		return changed == 1, err
	})
}

// exec runs a statement, and returns how many rows it has changed.
func (s *store) exec(ctx context.Context, conn *sqlx.Conn, statement string, args ...any) (changed int64, err error) {
	result, err := conn.ExecContext(ctx, s.sql(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// count returns a probe for so many rows.
func (s *store) count(rows int, from string, args ...any) probe {
	return func(ctx context.Context, conn *sqlx.Conn) (bool, error) {
		var found int
		err := conn.QueryRowxContext(ctx, s.sql("SELECT COUNT(*) FROM "+from), args...).Scan(&found)
		return found == rows, err
	}
}

// permanent returns an error if a temporary table hides a table of a group on this connection. The
// check holds until the connection is given back.
func (s *store) permanent(ctx context.Context, conn *sqlx.Conn, group []table) error {
	if s.dialect.permanent == nil {
		return nil
	}
	return s.dialect.permanent(ctx, conn, s.known(group))
}

// unlessKept makes an INSERT skip a row whose key exists, in the databases that can. The
// database rejects the statement if the table lacks the key, where several processes would succeed.
func (s *store) unlessKept(t table) string {
	if !s.dialect.conflict {
		return ""
	}
	return " ON CONFLICT (" + t.key + ") DO NOTHING"
}

// each runs a query, and scan for each row.
func each(ctx context.Context, conn *sqlx.Conn, query string, args []any, scan func(*sqlx.Rows) error) error {
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
// the time of our own columns, {later} for that time and a value of microseconds; {clock} and
// {expires} read the time and the column EXPIRES_AT as microseconds since 1970; {folded} is the
// column NAMESPACE in lower case; {key} after a table makes the statement use its primary key.
func (s *store) sql(text string) string {
	return s.db.Rebind(s.dialect.times.Replace(inSchema.ReplaceAllStringFunc(text, s.full)))
}

const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// retry calls call until it succeeds, returns a permanent error, or ctx ends. It returns the
// number of calls and the error of the last one. Between two calls it waits with exponential
// backoff and jitter, so that processes that collided once do not collide again.
func retry(ctx context.Context, call func() error, passes func(error) bool) (tries int, err error) {
	pause := firstPause
	var cause error
	for tries = 1; ; tries++ {
		err = call()
		if err == nil || ctx.Err() != nil || !passes(err) {
			break
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		cause = err
		storecall.Failed(ctx, err)
		pause = min(2*pause, longestPause)
	}
	// A dial may reach the deadline of ctx a moment before ctx ends.
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if late && cause != nil && ctx.Err() != nil {
		err = cause // the last attempt only failed for lack of time
	}
	return tries, err
}
