package sqlassigner

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// callTimeout bounds a call whose context has no deadline of its own.
const callTimeout = 10 * time.Second

// A store is a database handle with its dialect: what all assigners of this package work on. It is
// immutable; the handle may be used by any number of goroutines.
type store struct {
	db      *sqlx.DB
	dialect dialect
	tables  tables
	cfg     Config
}

func newStore(db *sqlx.DB, cfg Config) (*store, error) {
	if db == nil {
		return nil, errors.New("sqlassigner: no database handle (nil)")
	}
	d, err := dialectOf(db.DriverName())
	if err != nil {
		return nil, err
	}
	t, err := newTables(cfg, d)
	if err != nil {
		return nil, err
	}
	return &store{db: db, dialect: d, tables: t, cfg: cfg}, nil
}

// do runs f on one connection that is idle, again if it failed of something that passes, and words
// the error. f must be safe to repeat when it is not known whether it took effect.
func (s *store) do(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error) error {
	return s.look(ctx, what, s.idle(f))
}

// look is do for an f that reads nothing that a transaction could hide.
func (s *store) look(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error) error {
	return s.repeat(ctx, what, f, func(diagnosis) bool { return true })
}

// repeat is look for an f that may not be repeated after every error that passes; may says when it
// may.
func (s *store) repeat(ctx context.Context, what string, f func(context.Context, *sqlx.Conn) error, may func(diagnosis) bool) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	if s.dialect.file != nil {
		f = sqliteWaiting(f)
	}
	tries, err := retry(ctx, func() error { return s.try(ctx, f) }, func(err error) bool {
		d := s.dialect.diagnose(err)
		again := d.passes && may(d)
		if again {
			s.cfg.logger().LogAttrs(ctx, slog.LevelDebug, "sqlassigner: trying again",
				slog.String("to", what), slog.Any("error", err))
		}
		return again
	})
	if err == nil {
		return nil
	}
	return s.explain(ctx, what, tries, err)
}

// try does one attempt. A connection to a server that turned out to be read-only is not used
// again: after a failover the next one leads to the new primary.
func (s *store) try(ctx context.Context, f func(context.Context, *sqlx.Conn) error) error {
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // back to the pool
	err = f(ctx, conn)
	if s.dialect.diagnose(err).elsewhere {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool drops it
	}
	return err
}

// swap runs a statement that changes one row or none, in autocommit, and reports whether it changed
// one. Once it may have taken effect it is not tried again: the second try would find what the
// first one did, and report false for it.
//
// ready, unless nil, reads whether the statement could change a row now. Processes that contend for
// a row then see that another has changed it, and do not all wait for the lock on the row.
func (s *store) swap(ctx context.Context, what string, ready *query, statement string, args ...any) (bool, error) {
	var sent bool
	var changed int64
	err := s.repeat(ctx, what, s.idle(func(ctx context.Context, conn *sqlx.Conn) error {
		if ready != nil {
			var rows int
			if err := conn.QueryRowxContext(ctx, s.sql(ready.text), ready.args...).Scan(&rows); err != nil || rows != ready.rows {
				return err
			}
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
	}), func(d diagnosis) bool {
		again := d.undone || !sent
		sent = false
		return again
	})
	return err == nil && changed == 1, err
}

// create is swap for a statement that inserts a row, and reports false when there is one.
func (s *store) create(ctx context.Context, what string, absent *query, statement string, args ...any) (bool, error) {
	return s.swap(ctx, what, absent, statement+s.dialect.absent, args...)
}

// A query counts rows that are to be as many as rows says.
type query struct {
	rows int
	text string
	args []any
}

// assign does what precedes every new grant, the check of the domain, of durability, of the tables
// and of the pin, and then f.
func (s *store) assign(ctx context.Context, d assigner.Domain, f func(context.Context, *sqlx.Conn) error) error {
	a, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		return fmt.Errorf("sqlassigner: cannot take a worker ID: %w", err)
	}
	return s.do(ctx, "take a worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		if err := s.checkDurable(ctx, conn); err != nil {
			return err
		}
		// A namespace in a twin of WORKER_LEASE_META could have the same worker IDs unseen.
		if _, err := s.checkTables(ctx, conn, append(nodeTables(), "WORKER_LEASE_META")); err != nil {
			return err
		}
		if err := s.checkPin(ctx, conn, a); err != nil {
			return err
		}
		return f(ctx, conn)
	})
}

// tx runs f in a transaction.
func (s *store) tx(ctx context.Context, conn *sqlx.Conn, f func(*sqlx.Tx) error) error {
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // when it fails, the server does it
		return err
	}
	return tx.Commit()
}

// sql puts a statement into the dialect, with the tables' names in the database: ? for a value,
// {now} for the time of a timestamp column of WORKER_NODE, {today} for its date, {utc} for the time
// of our own columns, {later} for that time and a value of microseconds; {clock} and {expires} read
// the time and the column EXPIRES_AT as microseconds since 1970; {folded} is the column NAMESPACE
// in lower case.
func (s *store) sql(text string) string {
	return sqlx.Rebind(s.dialect.bind, s.dialect.times.Replace(s.tables.inSQL(text)))
}

// newToken returns 26 random letters and digits, more than anybody can hit by accident.
func newToken() string { return rand.Text() }
