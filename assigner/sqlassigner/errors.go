package sqlassigner

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/schema"
)

// Errors of the database. Each is wrapped together with the driver's own error, in a text that
// names the remedy.
var (
	// ErrUnreachable: no connection to the server could be made or kept until the context ended.
	ErrUnreachable error = storecall.Away{Err: errors.New("sqlassigner: database unreachable")}
	// ErrAccessDenied: the server refuses the user, the password, or the user's right to a table.
	ErrAccessDenied = errors.New("sqlassigner: access denied")
	// ErrTableMissing: a table of package schema, or its database, does not exist.
	ErrTableMissing = errors.New("sqlassigner: table missing")
	// ErrTableTwin: two tables of the database differ only in letter case or, within PostgreSQL's
	// search path, in schema from one name of package schema; or the only such table has another
	// letter case.
	ErrTableTwin = errors.New("sqlassigner: table in two places")
	// ErrKeyNotReturned: the database stored a row of WORKER_NODE but did not return a positive key
	// for it.
	ErrKeyNotReturned = errors.New("sqlassigner: key not returned")
	// ErrNoCounter: the table of a Java deployment has no row for a counter of package segment.
	ErrNoCounter = errors.New("sqlassigner: no such counter")
	// ErrUnknownDriver: the driver name of the handle belongs to no database that this package
	// supports.
	ErrUnknownDriver = errors.New("sqlassigner: unknown driver")
)

// errReadOnly: the server takes no writes, as during a failover.
var errReadOnly = errors.New("the server is read-only")

// A diagnosis classifies an error of the database. The zero value stands for an unknown error.
type diagnosis struct {
	sentinel error  // the sentinel to wrap; may be nil
	advice   string // the remedy, for the error text
	passes   bool   // a retry may succeed
	undone   bool   // the statement certainly had no effect
	exists   bool   // the row existed already
	noRight  bool   // the user lacks a right to the tables or their schema
}

// explain words the error that ended a call.
func (s *store) explain(ctx context.Context, what string, tries int, err error) error {
	if v, ok := errors.AsType[verdict](err); ok {
		return v.error
	}
	d := s.dialect.diagnose(err)
	if d.passes { // the callers of LeaseStore may have longer than this call
		err = storecall.Away{Err: err}
	}
	if d.sentinel == ErrTableMissing && d.advice == "" {
		group := schema.Nodes
		for _, t := range s.group {
			group = cmp.Or(t.group, group)
		}
		d.advice = "create it with " + s.dialect.creation(group) + ", but restore a lost table: an empty one repeats IDs"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		d.advice = cmp.Or(d.advice, "the server has not answered in time: another session may hold a lock on the row or the table, "+
			"its disk may be full, it may be frozen, or the network may drop packets")
	}
	if d.advice != "" {
		d.advice = "; " + d.advice
	}
	if tries > 1 {
		what = fmt.Sprintf("%s (%d tries)", what, tries)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("%w: cannot %s: %w%s", cmp.Or(d.sentinel, errors.New("sqlassigner")), what, err, d.advice)
}

// unconnected words the error of a call that got no connection of the pool.
func (s *store) unconnected(ctx context.Context, err error) error {
	stats := s.db.Stats()
	switch most := stats.MaxOpenConnections; {
	case s.dialect.diagnose(err) == noVariable: // the driver sets the variables of a DSN
		return final("sqlassigner: the server lacks a variable that the DSN sets, remove it there: %w", err)
	case err != nil && ctx.Err() != nil && most > 0 && stats.InUse >= most:
		return final("sqlassigner: all %d connections of the pool are in use: %w; give them back sooner, or raise SetMaxOpenConns", most, err)
	}
	return err
}

// A verdict is a final error that is complete: it is not retried, and its text begins with a
// sentinel of package assigner or of this package.
type verdict struct{ error }

func (v verdict) Unwrap() error { return v.error }

func final(format string, args ...any) error { return verdict{fmt.Errorf(format, args...)} }

func notDurable(format string, args ...any) error {
	return final("%w: "+format, append([]any{leasestore.ErrNotDurable}, args...)...)
}

// Diagnoses that databases share.
var (
	collision   = diagnosis{passes: true, undone: true}
	full        = diagnosis{passes: true, undone: true, advice: "the disk or the memory of the server is full, or the server cannot use a file: see its log"}
	unreachable = diagnosis{sentinel: ErrUnreachable, passes: true,
		advice: "check that the server runs and that the address is right"}
	timedOut = diagnosis{sentinel: ErrUnreachable, passes: true, advice: "the server has ended the statement early: raise statement_timeout, " +
		"max_execution_time or max_statement_time, or look for a session that holds a lock"}
	noConnection = diagnosis{sentinel: ErrUnreachable, passes: true, advice: "the server has no connection left: raise its max_connections, " +
		"or start fewer processes at once, with fewer connections each"}
	readOnly = diagnosis{sentinel: leasestore.ErrNotDurable, passes: true, undone: true,
		advice: "use the address of the primary, or make this server writable if it is the primary"}
	noLogin = diagnosis{sentinel: ErrAccessDenied, advice: "check user and password, and whether the user may connect from this host, or must with TLS"}
	noRight = diagnosis{sentinel: ErrAccessDenied, noRight: true,
		advice: "the user needs SELECT, INSERT and UPDATE on the tables of schema/, and CREATE to make a missing one"}
	noRightOfSchema   = diagnosis{sentinel: ErrAccessDenied, noRight: true, advice: noRight.advice + " (GRANT USAGE, CREATE ON SCHEMA)"}
	noRightOrDatabase = diagnosis{sentinel: ErrAccessDenied,
		advice: "the database does not exist, or the user has no right to it: CREATE DATABASE, or GRANT SELECT, INSERT, UPDATE, CREATE on its tables"}
	duplicate = diagnosis{passes: true, exists: true, advice: "either many processes write the same row, or rows of WORKER_NODE " +
		"were deleted and its counter was set back: raise it above the largest ID of WORKER_NODE_TOKEN"}
	keyMissing = diagnosis{advice: "the table lacks its primary key, which keeps two processes apart: add it as package schema has it"}
	altered    = diagnosis{advice: "a column of the table was dropped or renamed: put it back"}
	noDatabase = diagnosis{sentinel: ErrTableMissing, advice: "create the database, or correct its name"}
	noTable    = diagnosis{sentinel: ErrTableMissing}
	noVariable = diagnosis{sentinel: leasestore.ErrNotDurable,
		advice: "this server lacks a variable that the check reads: use MySQL 5.7.20 or later, or MariaDB"}
	pooled = diagnosis{advice: "a pooler such as pgbouncer gives each transaction another connection, and prepared statements " +
		"stay with the old one: add default_query_exec_mode=simple_protocol to the URL for pgx, or binary_parameters=yes for " +
		"lib/pq, or let the pooler keep prepared statements (max_prepared_statements of pgbouncer 1.21)"}
	replaced = diagnosis{sentinel: leasestore.ErrDamaged, advice: "the file was moved, replaced or deleted while it was open: " +
		"put it back, or start the process again"}
)

// diagnoseAny classifies errors that do not depend on the database.
func diagnoseAny(err error) (diagnosis, bool) {
	if _, worded := errors.AsType[verdict](err); worded || err == nil {
		return diagnosis{}, true
	}
	// A context that ended is a net.Error as well, but says nothing about the network.
	netErr, network := errors.AsType[net.Error](err)
	network = network && netErr != context.DeadlineExceeded
	// pgx returns this error for a connection that was closed before the statement was sent.
	closed, repeatable := errors.AsType[interface {
		error
		SafeToRetry() bool
	}](err)
	switch {
	case errors.Is(err, errSilent):
		return collision, true
	case errors.Is(err, errReadOnly):
		return readOnly, true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), network, repeatable && closed.SafeToRetry():
		return unreachable, true
	}
	return diagnosis{}, false
}
