package sqlassigner

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// idle wraps f in a check that its connection commits each statement by itself. A connection that
// came back to the pool inside a transaction shows rows that no other connection sees, and the end
// of the transaction may take them away. The transaction is left as it is: it belongs to the
// caller.
//
// No other goroutine uses the connection between the check and f, so that one check holds for all
// statements of f.
func (s *store) idle(f func(context.Context, *sqlx.Conn) error) func(context.Context, *sqlx.Conn) error {
	return func(ctx context.Context, conn *sqlx.Conn) error {
		if err := s.dialect.idle(ctx, conn); err != nil {
			return err
		}
		return f(ctx, conn)
	}
}

func openTransaction() error {
	return final("%w: the handle gave a connection that is inside a transaction, whose end may take a worker ID back: end each "+
		"transaction before its connection goes back to the pool, as BeginTx does, which BEGIN in an Exec does not",
		assigner.ErrStoreNotDurable)
}

// mysqlIdle reads the state of the session from MariaDB, which runs the comment. MySQL has no
// variable for it, but refuses inside a transaction to set the isolation level of the next one. The
// level is the session's, which changes nothing.
func mysqlIdle(ctx context.Context, conn *sqlx.Conn) error {
	row := conn.QueryRowxContext(ctx, "SELECT @@session.autocommit /*M!, @@in_transaction */")
	columns, err := row.Columns()
	if err != nil {
		return err
	}
	autocommit, inside := "", ""
	if err := row.Scan([]any{&autocommit, &inside}[:len(columns)]...); err != nil {
		return err
	}
	switch {
	case !isOn(autocommit):
		return noAutocommit()
	case inside == "":
		_, err := conn.ExecContext(ctx, "SET @@transaction_isolation = @@session.transaction_isolation")
		return mysqlBusy(err)
	case isOn(inside):
		return openTransaction()
	}
	return nil
}

// mysqlBusy words MySQL's refusal to set the isolation level inside a transaction.
func mysqlBusy(err error) error {
	const inProgress = 1568
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == inProgress {
		return openTransaction()
	}
	return err
}

func noAutocommit() error {
	return final("%w: the handle gave a connection with autocommit=0 (allowed: 1): the end of the connection would take a "+
		"worker ID back; leave autocommit on, in the DSN and in each session", assigner.ErrStoreNotDurable)
}

// postgresIdle compares the beginnings of the transactions of two statements. They are the same
// inside a transaction, and differ by a round trip outside. The time of a single statement does not
// tell: with the extended protocol it is later than the beginning of its transaction in any case.
func postgresIdle(ctx context.Context, conn *sqlx.Conn) error {
	var began [2]string
	for i := range began {
		err := conn.QueryRowxContext(ctx, "SELECT CAST(transaction_timestamp() AS text)").Scan(&began[i])
		if e, ok := errors.AsType[interface {
			error
			SQLState() string
		}](err); ok && e.SQLState() == "25P02" { // inside a transaction that has failed
			return openTransaction()
		}
		if err != nil {
			return err
		}
	}
	if began[0] == began[1] {
		return openTransaction()
	}
	return nil
}

// sqliteIdle begins a transaction, which fails inside another one, and ends it. That takes no lock.
// It does not end with the context, since it would leave the connection inside.
func sqliteIdle(ctx context.Context, conn *sqlx.Conn) error {
	ctx = context.WithoutCancel(ctx)
	_, err := conn.ExecContext(ctx, "BEGIN DEFERRED")
	switch {
	case err != nil && strings.Contains(err.Error(), "within a transaction"):
		return openTransaction()
	case err != nil:
		return err
	}
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}
