package sqlassigner

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// Each dialect has a func idle, which returns an error for a connection inside a transaction or
// without autocommit. Other connections would not see its rows, and the end of the transaction
// might undo them. The transaction stays open, since it belongs to the caller. No other goroutine
// uses the connection until it is given back, so one check is enough for a call.

func openTransaction() error {
	return notDurable("the handle gave a connection that is inside a transaction, whose end may take a worker ID back: end each " +
		"transaction before its connection goes back to the pool, as BeginTx does, which BEGIN in an Exec does not")
}

// mysqlIdle reads in_transaction from MariaDB, which executes the comment. MySQL has no such
// variable, but inside a transaction it rejects setting the isolation level of the next one.
// mysqlIdle sets the session's own level, which changes nothing.
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
		return notDurable("the handle gave a connection with autocommit=0 (allowed: 1): the end of the connection would take a " +
			"worker ID back; leave autocommit on, in the DSN and in each session")
	case inside == "":
		_, err := conn.ExecContext(ctx, "SET @@transaction_isolation = @@session.transaction_isolation")
		return mysqlBusy(err)
	case isOn(inside):
		return openTransaction()
	}
	return nil
}

// mysqlBusy replaces MySQL's error for setting the isolation level inside a transaction.
func mysqlBusy(err error) error {
	const inProgress = 1568
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == inProgress {
		return openTransaction()
	}
	return err
}

// postgresIdle compares the transaction start times of two statements. Inside a transaction they
// are equal; outside they differ by a round trip. The statement time is of no use: with the
// extended protocol it is always later than the start of the transaction.
func postgresIdle(ctx context.Context, conn *sqlx.Conn) error {
	var began [2]string
	for i := range began {
		err := conn.QueryRowxContext(ctx, "SELECT CAST(transaction_timestamp() AS text)").Scan(&began[i])
		if sqlState(err) == "25P02" { // inside a transaction that has failed
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
// It ignores the end of the context, which could leave the connection inside the transaction.
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
