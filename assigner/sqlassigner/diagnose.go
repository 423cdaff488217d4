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

	"github.com/uidring/uidring/assigner/leasestore"
)

// Diagnoses that databases share.
var (
	collision   = diagnosis{passes: true, undone: true}
	unreachable = diagnosis{sentinel: ErrUnreachable, passes: true,
		advice: "check that the server runs and that the address is right"}
	noConnection = diagnosis{sentinel: ErrUnreachable, passes: true, advice: "the server has no connection left: raise its max_connections, " +
		"or start fewer processes at once, with fewer connections each"}
	readOnly = diagnosis{sentinel: leasestore.ErrNotDurable, passes: true, undone: true,
		advice: "use the address of the primary"}
	noLogin = diagnosis{sentinel: ErrAccessDenied, advice: "check user and password"}
	noRight = diagnosis{sentinel: ErrAccessDenied,
		advice: "the user needs SELECT, INSERT and UPDATE on the tables of schema/, and CREATE to make a missing one"}
	noRightOfSchema   = diagnosis{sentinel: ErrAccessDenied, advice: noRight.advice + " (GRANT CREATE ON SCHEMA)"}
	noRightOrDatabase = diagnosis{sentinel: ErrAccessDenied,
		advice: "the database does not exist, or the user has no right to it: CREATE DATABASE, or GRANT SELECT, INSERT, UPDATE, CREATE on its tables"}
	duplicate = diagnosis{passes: true, exists: true, advice: "either many processes write the same row, or rows of WORKER_NODE " +
		"were deleted and its counter was set back: raise it above the largest ID of WORKER_NODE_TOKEN"}
	keyMissing = diagnosis{advice: "the table lacks its primary key, which keeps two processes apart: create it as package schema has it"}
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
	case errors.Is(err, errReadOnly):
		return readOnly, true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), network, repeatable && closed.SafeToRetry():
		return unreachable, true
	}
	return diagnosis{}, false
}

var mysqlErrors = map[uint16]diagnosis{
	1213: collision, 1020: collision, // deadlock, row changed since it was read
	1205: {passes: true, undone: true, advice: "another session holds a lock"},
	1290: readOnly, 1792: readOnly, 1836: readOnly, // the server, the transaction, or the server while it is switched over
	1040: noConnection, 1203: noConnection, // too many connections, of the user
	1047: unreachable, 1053: unreachable, 1927: unreachable, // not ready, shutting down, connection killed
	1044: noRightOrDatabase, 1045: noLogin, 1698: noLogin, 1142: noRight, 1143: noRight, // password, plugin, table, column
	1049: noDatabase, 1146: noTable,
	1062: duplicate, 1176: keyMissing,
	1193: noVariable,
}

func diagnoseMySQL(err error) diagnosis {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		if strings.Contains(strings.ToLower(e.Message), "unknown system variable") { // Dolt has one number for many errors
			return noVariable
		}
		return mysqlErrors[e.Number]
	}
	d, known := diagnoseAny(err)
	// If the connection is lost while the driver logs in, its Connect returns an unexported error,
	// which its other methods turn into driver.ErrBadConn.
	if !known && strings.HasSuffix(err.Error(), "bad connection") {
		return unreachable
	}
	// Unlike others, this driver returns ErrBadConn only for statements that were not sent, and for
	// a read-only server.
	d.undone = d.undone || errors.Is(err, driver.ErrBadConn)
	return d
}

var postgresErrors = map[string]diagnosis{
	"40001": collision, "40P01": collision, "55P03": collision, // serialization, deadlock, lock not available
	"42P07": collision, "42710": collision, // CREATE … IF NOT EXISTS of several processes at once: table, type exists
	"25006": readOnly,
	"53300": noConnection,
	"28000": noLogin, "28P01": noLogin, "42501": noRightOfSchema, // user, password, table
	"3D000": noDatabase, "42P01": noTable,
	"42P05": pooled, "26000": pooled, // a prepared statement exists already, or does not exist
	"23505": duplicate, "42P10": keyMissing, // ON CONFLICT names no key
}

// sqlState returns the SQLSTATE of an error, which the drivers pgx and pq both provide, or "".
func sqlState(err error) string {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return e.SQLState()
}

func diagnosePostgres(err error) diagnosis {
	state := sqlState(err)
	if strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") { // connection, shutdown
		return unreachable
	}
	if state != "" {
		return postgresErrors[state]
	}
	d, known := diagnoseAny(err)
	// target_session_attrs lets pgx reject the connection itself.
	if text := fmt.Sprint(err); !known && (strings.Contains(text, "read only connection") || strings.Contains(text, "server is in standby mode")) {
		return readOnly
	}
	return d
}

// sqliteErrors has result codes for drivers that provide them as a method, and SQLite's own texts,
// which are the same in all drivers. The first entry that fits counts.
var sqliteErrors = []struct {
	code int // without the bits above that tell variants apart, unless it has some; 0: none
	text string
	diagnosis
}{
	{1032, "", replaced}, // SQLITE_READONLY_DBMOVED
	{5, "database is locked", collision},
	{6, "table is locked", collision},
	{8, "readonly database", diagnosis{sentinel: ErrAccessDenied, advice: "make the file and its folder writable"}},
	{3, "access permission denied", diagnosis{sentinel: ErrAccessDenied, advice: "make the file and its folder writable"}},
	{23, "not authorized", diagnosis{sentinel: ErrAccessDenied, advice: "make the file and its folder writable"}},
	{14, "unable to open database file", diagnosis{sentinel: ErrUnreachable, advice: "check that the file and its folder exist and are writable"}},
	{0, "no such table", noTable},
	{0, "UNIQUE constraint failed", duplicate},
	{0, "ON CONFLICT clause does not match", keyMissing},
}

func diagnoseSQLite(err error) diagnosis {
	// A file has no network, and all errors of ncruces/go-sqlite3 look like errors of one.
	if d, known := diagnoseAny(err); known && d.sentinel != ErrUnreachable {
		return d
	}
	code, text := -1, err.Error()
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		code = e.Code()
	}
	for _, e := range sqliteErrors {
		if e.code > 0 && (e.code == code || e.code == code&0xff) || e.text != "" && strings.Contains(text, e.text) {
			return e.diagnosis
		}
	}
	return diagnosis{}
}
