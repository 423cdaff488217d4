package sqlassigner

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// Diagnoses that all databases share.

func unreachable() diagnosis {
	return diagnosis{sentinel: ErrUnreachable, passes: true,
		advice: "check that the server runs and that the address is right"}
}

func noConnection() diagnosis {
	return diagnosis{sentinel: ErrUnreachable, passes: true, advice: "the server has no connection left: raise its max_connections, " +
		"or start fewer processes at once, with fewer connections each"}
}

func collision() diagnosis { return diagnosis{passes: true, undone: true} }

func readOnly() diagnosis {
	return diagnosis{sentinel: assigner.ErrStoreNotDurable, passes: true, undone: true,
		advice: "use the address of the primary"}
}

func denied() diagnosis {
	return diagnosis{sentinel: ErrAccessDenied,
		advice: "check user and password; the user needs SELECT, INSERT and UPDATE on the tables of schema/, and CREATE for Apply if one is missing"}
}

func duplicate() diagnosis {
	return diagnosis{passes: true, exists: true, advice: "either many processes write the same row, or rows of WORKER_NODE " +
		"were deleted and its counter was set back: raise it above the largest ID of WORKER_NODE_TOKEN"}
}

func keyMissing() diagnosis {
	return diagnosis{advice: "the table lacks its primary key, which keeps two processes apart: create it as package schema has it"}
}

func noDatabase() diagnosis {
	return diagnosis{sentinel: ErrTableMissing, advice: "create the database, or correct its name"}
}

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
	case errors.Is(err, errReadOnly):
		return readOnly(), true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), network, repeatable && closed.SafeToRetry():
		return unreachable(), true
	}
	return diagnosis{}, false
}

func diagnoseMySQL(err error) diagnosis {
	if unknownVariable(err) {
		return diagnosis{sentinel: assigner.ErrStoreNotDurable,
			advice: "this server lacks a variable that the check reads: use MySQL 5.7.20 or later, or MariaDB"}
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return diagnoseMySQLNumber(e.Number)
	}
	d, known := diagnoseAny(err)
	if !known && lostAtLogin(err) {
		return unreachable()
	}
	// Unlike others, this driver returns ErrBadConn only for statements that were not sent, and for
	// a read-only server.
	d.undone = d.undone || errors.Is(err, driver.ErrBadConn)
	return d
}

// lostAtLogin reports whether the connection was lost while the driver logged in: its Connect then
// returns an unexported error, which its other methods turn into driver.ErrBadConn.
func lostAtLogin(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == "bad connection" {
			return true
		}
	}
	return false
}

func diagnoseMySQLNumber(number uint16) diagnosis {
	switch number {
	case 1213, 1020: // deadlock, row changed since it was read
		return collision()
	case 1205: // lock wait timeout
		return diagnosis{passes: true, undone: true, advice: "another session holds a lock"}
	case 1290, 1792, 1836: // the server, the transaction, or the server while it is switched over, is read-only
		return readOnly()
	case 1040, 1203: // too many connections, of the user
		return noConnection()
	case 1047, 1053, 1927: // not ready, shutting down, connection killed
		return unreachable()
	case 1044, 1045, 1142, 1143, 1698: // database, password, table, column, plugin
		return denied()
	case 1049:
		return noDatabase()
	case 1146:
		return diagnosis{sentinel: ErrTableMissing}
	case 1062:
		return duplicate()
	case 1176: // no such key
		return keyMissing()
	}
	return diagnosis{}
}

// sqlState returns the SQLSTATE of an error, which the drivers pgx and pq both provide.
func sqlState(err error) (string, bool) {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return "", false
	}
	return e.SQLState(), true
}

// diagnosePostgres classifies errors by their SQLSTATE.
func diagnosePostgres(err error) diagnosis {
	if state, ok := sqlState(err); ok {
		return diagnoseSQLState(state)
	}
	d, known := diagnoseAny(err)
	// target_session_attrs lets pgx reject the connection itself.
	if text := fmt.Sprint(err); !known && (strings.Contains(text, "read only connection") || strings.Contains(text, "server is in standby mode")) {
		return readOnly()
	}
	return d
}

// unknownVariable reports whether a server lacks a variable of MySQL; Dolt has the number 1105 for
// many errors.
func unknownVariable(err error) bool {
	const unknown, dolt = 1193, 1105
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == unknown || e.Number == dolt && strings.Contains(strings.ToLower(e.Message), "unknown system variable"))
}

func diagnoseSQLState(state string) diagnosis {
	switch state {
	case "40001", "40P01", "55P03", // serialization, deadlock, lock not available
		"42P07", "42710": // CREATE … IF NOT EXISTS of several processes at once: table, type exists
		return collision()
	case "25006":
		return readOnly()
	case "53300": // too many connections
		return noConnection()
	case "28000", "28P01", "42501": // user, password, table
		return denied()
	case "3D000":
		return noDatabase()
	case "42P01":
		return diagnosis{sentinel: ErrTableMissing}
	case "42P05", "26000": // a prepared statement exists already, or does not exist
		return diagnosis{advice: "a pooler such as pgbouncer gives each transaction another connection, and prepared statements " +
			"stay with the old one: add default_query_exec_mode=simple_protocol to the URL for pgx, or binary_parameters=yes for " +
			"lib/pq, or let the pooler keep prepared statements (max_prepared_statements of pgbouncer 1.21)"}
	case "23505":
		return duplicate()
	case "42P10": // ON CONFLICT names no key
		return keyMissing()
	}
	if strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") { // connection, shutdown
		return unreachable()
	}
	return diagnosis{}
}

// diagnoseSQLite classifies errors by their result code if the driver provides it as a method, and
// otherwise by SQLite's own text, which is the same in all drivers.
func diagnoseSQLite(err error) diagnosis {
	// A file has no network, and all errors of ncruces/go-sqlite3 look like errors of one.
	if d, known := diagnoseAny(err); known && d.sentinel != ErrUnreachable {
		return d
	}
	return diagnoseSQLiteCode(err)
}

func diagnoseSQLiteCode(err error) diagnosis {
	code, extended, text := 0, 0, err.Error()
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		extended = e.Code()
		code = extended & 0xff // the bits above tell variants apart
	}
	is := func(want int, phrase string) bool { return code == want || strings.Contains(text, phrase) }
	switch {
	case is(5, "database is locked"), is(6, "table is locked"):
		return collision()
	case extended == 1032: // SQLITE_READONLY_DBMOVED
		return diagnosis{sentinel: leasestore.ErrDamaged, advice: "the file was moved, replaced or deleted while it was open: " +
			"put it back, or start the process again"}
	case is(8, "readonly database"), is(3, "access permission denied"), is(23, "not authorized"):
		return diagnosis{sentinel: ErrAccessDenied, advice: "make the file and its folder writable"}
	case is(14, "unable to open database file"):
		return diagnosis{sentinel: ErrUnreachable, advice: "check that the file and its folder exist and are writable"}
	case strings.Contains(text, "no such table"):
		return diagnosis{sentinel: ErrTableMissing}
	case strings.Contains(text, "UNIQUE constraint failed"):
		return duplicate()
	case strings.Contains(text, "ON CONFLICT clause does not match"):
		return keyMissing()
	}
	return diagnosis{}
}
