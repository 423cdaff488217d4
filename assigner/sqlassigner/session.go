package sqlassigner

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// The way of a renewal: lease.go has the statements, this file the connection that they run on, and
// the dialect, such as mysql.go, the questions to the server.

// A session is one connection, with the facts that are proved about it. Each call of a store has
// one. The calls of a renewal, a claim or a release share one, see [storecall.Operation]: no other
// goroutine uses the connection meanwhile, so these facts are proved once:
//
//   - It is outside any transaction, and each statement commits. Other connections would not see
//     the changes of a transaction, which its end might undo. The transaction stays open, since it
//     belongs to the caller.
//   - No temporary table hides a table of the store.
//
// The engines and keys of the tables are looked at once in an operation, also on several
// connections, unless another server answers. That is the most expensive part of a look. The
// server's settings, identity and clock are looked at anew by each Status: before a renewal and
// after it.
type session struct {
	*sqlx.Conn
	brief     bool     // the first answer is due soon
	commits   bool     // each statement commits; MySQL
	began     string   // when the transaction of the last look began; PostgreSQL
	idle      bool     // outside any transaction
	permanent []string // tables that are not temporary
}

const (
	// callTimeout bounds a call whose context has no deadline of its own.
	callTimeout = 10 * time.Second
	// A NAT or a load balancer may have forgotten a connection that waited in the pool. In the
	// first tries of a call its first answer is due within briefly, or the pool drops it. Later
	// tries and new connections have the rest of the time, for a slow server.
	briefly    = 2 * time.Second
	briefTries = 2
)

// errSilent wraps the error of a call that ends with it, so that the advice is the same.
var errSilent = fmt.Errorf("a connection of the pool does not answer: %w", context.DeadlineExceeded)

// try runs f once.
func (s *store) try(ctx context.Context, brief bool, f func(context.Context, *session) error) error {
	conn, err := s.connect(ctx, brief)
	if err != nil {
		return err
	}
	if err = s.locate(ctx, conn); err == nil {
		err = f(ctx, conn)
	}
	switch {
	case err == nil:
		storecall.Keep(ctx, s, conn)
		return nil
	case s.dialect.diagnose(err).sentinel == leasestore.ErrNotDurable, errors.Is(err, errSilent):
		// The pool drops the connection: after a failover the next one reaches the new primary.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close() // back to the pool
	return err
}

// connect returns the session of the operation, or else a new one.
func (s *store) connect(ctx context.Context, brief bool) (*session, error) {
	if kept, ok := storecall.Take(ctx, s).(*session); ok {
		return kept, nil
	}
	brief = brief && s.dialect.waiting == nil && s.db.Stats().Idle > 0 // a file is never silent
	conn := &session{brief: brief}
	err := conn.first(ctx, func(ctx context.Context) (err error) { // a driver may ask the server here
		conn.Conn, err = s.db.Connx(ctx)
		return err
	})
	conn.brief = brief
	return conn, s.unconnected(ctx, err)
}

// first runs ask, which reads, and returns errSilent if the first answer is overdue.
func (conn *session) first(ctx context.Context, ask func(context.Context) error) error {
	if !conn.brief {
		return ask(ctx)
	}
	end, _ := ctx.Deadline()
	short, cancel := context.WithTimeout(ctx, min(briefly, time.Until(end)/4))
	defer cancel()
	err := ask(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return errSilent
	}
	conn.brief = false
	return err
}

// checkIdle returns an error for a connection inside a transaction or without autocommit.
func (s *store) checkIdle(ctx context.Context, conn *session) error {
	if conn.idle {
		return nil
	}
	err := conn.first(ctx, func(ctx context.Context) error { return s.dialect.idle(ctx, conn, s.known(s.group)) })
	conn.idle = err == nil
	return err
}

// checkPermanent returns an error for a table that a temporary one hides.
func (s *store) checkPermanent(ctx context.Context, conn *session, t table) error {
	group := s.known([]table{t})
	if s.dialect.permanent == nil || slices.Contains(conn.permanent, group[0].full) {
		return nil
	}
	conn.permanent = append(conn.permanent, group[0].full)
	return s.dialect.permanent(ctx, conn, group)
}

// look returns the identity and the clock of the server, or of the file, and all faults. A later
// look of an operation leaves out the tables, unless it meets another server.
func (s *store) look(ctx context.Context, conn *session, group []table) (status leasestore.Status, err error) {
	seen, tables := storecall.Noted(ctx, s), s.known(group)
	now := tables
	if seen != "" {
		now = nil
	}
	err = conn.first(ctx, func(ctx context.Context) error { return s.dialect.look(ctx, conn, now, &status) })
	if err == nil && seen != "" && status.Identity != seen {
		status = leasestore.Status{}
		err = s.dialect.look(ctx, conn, tables, &status)
	}
	if err == nil {
		storecall.Note(ctx, s, status.Identity)
	}
	return status, err
}

// do is run for an f that reads or changes rows.
func (s *store) do(ctx context.Context, what string, f func(context.Context, *session) error) error {
	return s.run(ctx, what, func(ctx context.Context, conn *session) error {
		if err := s.checkIdle(ctx, conn); err != nil {
			return err
		}
		return f(ctx, conn)
	})
}

// run runs f on a connection, retries it after a temporary error, and explains the last error. f
// must be safe to repeat when it may have taken effect, or return an unsure error.
func (s *store) run(ctx context.Context, what string, f func(context.Context, *session) error) error {
	if s.err != nil {
		return s.err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	if s.dialect.waiting != nil {
		f = s.dialect.waiting(f)
	}
	begun := 0
	tries, err := retry(ctx, func() error { begun++; return s.try(ctx, begun <= briefTries, f) }, func(err error) bool {
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
func ask[T any](ctx context.Context, s *store, what string, f func(context.Context, *session) (T, error)) (result T, err error) {
	err = s.do(ctx, what, func(ctx context.Context, conn *session) (err error) {
		result, err = f(ctx, conn)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// swap runs a statement that changes at most one row of t, in autocommit, and reports whether it
// changed one. ready, unless nil, comes first. swap does not retry a statement that may have taken
// effect: the retry would meet the changed row and report false.
func (s *store) swap(ctx context.Context, what string, t table, ready probe, statement string, args ...any) (bool, error) {
	return ask(ctx, s, what, func(ctx context.Context, conn *session) (bool, error) {
		if ready != nil {
			if ok, err := ready(ctx, conn); !ok || err != nil {
				return false, err
			}
		}
		if err := s.checkPermanent(ctx, conn, t); err != nil {
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
func (s *store) exec(ctx context.Context, conn *session, statement string, args ...any) (changed int64, err error) {
	result, err := conn.ExecContext(ctx, s.sql(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// retry calls call until it succeeds, returns a permanent error, or ctx ends. It returns the number
// of calls and the error of the last one. Between two calls it waits with exponential backoff and
// jitter, so that processes that collided once do not collide again.
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
