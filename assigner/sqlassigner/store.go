package sqlassigner

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// callTimeout bounds a call whose context has no deadline of its own.
const callTimeout = 10 * time.Second

// A store is a database handle with its dialect and configuration. All assigners of this package
// use one. Any number of goroutines may use it at once.
type store struct {
	db      *sqlx.DB
	dialect dialect
	cfg     Config
	err     error // of the caller's arguments, which each call returns
	home    home
	afar    sync.Once  // a warning of tables in other schemas
	file    sqliteFile // of SQLite
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
	return &store{db: db, dialect: d, cfg: cfg, err: wrong, home: home{schema: d.schema, found: !d.inSchemas}}
}

// do runs f on one connection outside any transaction, retries it after a temporary error, and
// explains the last error. f must be safe to repeat when it may have taken effect.
func (s *store) do(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error) error {
	return s.repeat(ctx, what, f, func(diagnosis) bool { return true })
}

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

// repeat is do for an f that must not be repeated after every temporary error; may reports whether
// it may be.
func (s *store) repeat(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error, may func(diagnosis) bool) error {
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
		d := s.dialect.diagnose(err)
		again := d.passes && may(d)
		if again {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "sqlassigner: trying again",
				slog.String("to", what), slog.Any("error", err))
		}
		return again
	})
	if err == nil {
		return nil
	}
	return s.explain(ctx, what, tries, err)
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

// swap runs a statement that changes at most one row, in autocommit, and reports whether it changed
// one. swap does not retry a statement that may have taken effect: the retry would meet the changed
// row and report false.
//
// ready, unless nil, reads whether the statement could change a row now. Processes that compete for
// a row then notice a change without waiting for the lock on the row.
func (s *store) swap(ctx context.Context, what string, t table, ready *query, statement string, args ...any) (bool, error) {
	var sent bool
	var changed int64
	err := s.repeat(ctx, what, func(ctx context.Context, conn *sqlx.Conn) error {
		if ready != nil {
			var rows int
			if err := conn.QueryRowxContext(ctx, s.sql(ready.text), ready.args...).Scan(&rows); err != nil || rows != ready.rows {
				return err
			}
		}
		if err := s.permanent(ctx, conn, []table{t}); err != nil {
			return err
		}
		sent = true
		result, err := conn.ExecContext(ctx, s.sql(statement), args...)
		switch {
		case s.dialect.diagnose(err).exists:
			return nil
		case err != nil:
			return err
		}
		changed, err = result.RowsAffected()
		return err
	}, func(d diagnosis) bool {
		again := d.undone || !sent
		sent = false
		return again
	})
	return err == nil && changed == 1, err
}

// create is swap for a statement that inserts a row with a primary key. It reports false when the
// row exists. It returns an error for a table without the key, where several processes would
// succeed: absent names the index of the key, and so does unlessKept.
func (s *store) create(ctx context.Context, what string, t table, absent *query, statement string, args ...any) (bool, error) {
	return s.swap(ctx, what, t, absent, statement+s.unlessKept(t.key), args...)
}

// permanent returns an error if a temporary table hides a table of a group on this connection. The
// check holds until the connection is given back.
func (s *store) permanent(ctx context.Context, conn *sqlx.Conn, group []table) error {
	if s.dialect.permanent == nil {
		return nil
	}
	return s.dialect.permanent(ctx, conn, s.known(group))
}

// unlessKept makes an INSERT skip a row whose key exists, in the databases that can.
func (s *store) unlessKept(key string) string {
	if !s.dialect.conflict {
		return ""
	}
	return " ON CONFLICT (" + key + ") DO NOTHING"
}

// A query counts rows; the caller expects the result rows.
type query struct {
	rows int
	text string
	args []any
}

// assign checks the domain, durability, the tables and the pin, and then runs f, which takes a
// worker ID.
func (s *store) assign(ctx context.Context, d assigner.Domain, f func(context.Context, *sqlx.Conn) error) error {
	a, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		return fmt.Errorf("sqlassigner: cannot take a worker ID: %w", err)
	}
	return s.do(ctx, "take a worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		if err := s.checkDurable(ctx, conn, nodeTables(), "worker IDs"); err != nil {
			return err
		}
		// A namespace in a twin of WORKER_LEASE_META could have the same worker IDs unseen.
		used := append(nodeTables(), table{name: "WORKER_LEASE_META"})
		if _, err := s.checkTables(ctx, conn, used); err != nil {
			return err
		}
		if err := s.permanent(ctx, conn, used); err != nil {
			return err
		}
		if err := s.checkPin(ctx, conn, a); err != nil {
			return err
		}
		return f(ctx, conn)
	})
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

// tx runs f in a transaction.
func (s *store) tx(ctx context.Context, conn *sqlx.Conn, f func(*sqlx.Tx) error) error {
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // if that fails, the server rolls back
		return err
	}
	return tx.Commit()
}

// sql translates a statement into the dialect, with the database's table names: ? stands for a
// value, {now} for the time of a timestamp column of WORKER_NODE, {today} for its date, {utc} for
// the time of our own columns, {later} for that time and a value of microseconds; {clock} and
// {expires} read the time and the column EXPIRES_AT as microseconds since 1970; {folded} is the
// column NAMESPACE in lower case; {key} after a table makes the statement use its primary key.
func (s *store) sql(text string) string {
	return s.db.Rebind(s.dialect.times.Replace(inSchema.ReplaceAllStringFunc(text, s.full)))
}
