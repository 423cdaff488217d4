package sqlassigner

import (
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/leasestore"
)

// mysqlErrors are the errors of MySQL 9.7 and MariaDB 11.8 that a statement of this package may
// meet, out of all 1,632 that MySQL sends to clients. An error that is not here is not repeated,
// and its statement may have taken effect.
var mysqlErrors = join(map[*diagnosis][]uint16{
	// The statement was rolled back or has not begun, and may succeed later.
	&collision: {
		1020, 1213, 1412, 1689, // row or table changed since it was read, deadlock, lock given up
		1206, 1613, 1614, 1637, // too many locks, transaction rolled back, too many transactions
		3101,                               // Group Replication has chosen another change of the row
		3781, 3782, 3796, 3797, 3798, 3799, // group_replication_consistency waits for a new primary, or the member is not online
	},
	&held:     {1205, 1223, 3572},                               // lock wait timeout, FLUSH TABLES WITH READ LOCK
	&readOnly: {1290, 1792, 1836, 1874, 3989},                   // the server, the transaction, a server while it is switched over, InnoDB, the database
	&full:     {1021, 1037, 1041, 1114, 1197, 3015, 3019, 3675}, // disk, memory, table, binary log cache, undo log
	&locked:   {1099, 1100},                                     // LOCK TABLES on this connection
	// The statement may have taken effect, and the next one may succeed.
	&unreachable: {
		1047, 1053, 1079, 1152, 1927, 3032, 3169, 4031, // not ready, shutting down, offline, connection ended
		9001, 9002, 9003, 9004, 9005, // ProxySQL without a server; TiDB: timeouts, no region
		1180, 1181, 1317, 3100, // commit, rollback, interrupted, Group Replication cannot commit: others may have the change
	},
	&timedOut:     {1969, 3024},                   // MariaDB, MySQL
	&noConnection: {1040, 1129, 1203, 4081, 4082}, // too many connections, host blocked for failed ones
	&userLimit:    {1226},
	// They need a change of the server or of the address.
	&noRightOrDatabase: {1044},
	&noLogin:           {1045, 1130, 1698, 1873}, // password, host, plugin
	&noTLS:             {3159},
	&expired:           {1820, 1862, 3118, 3955}, // password, account
	&noRight:           {1142, 1143, 1227, 1370}, // table, column, privilege, function
	&noDatabase:        {1049},
	&noTable:           {1146},
	&duplicate:         {1062},
	&keyMissing:        {1176, 3098}, // Group Replication rejects a table without a key
	&altered:           {1054},
	&noVariable:        {1193},
	&statementFormat:   {1665},
	&mixedEngines:      {1785, 1786}, // with GTIDs
})

// Diagnoses of MySQL alone.
var (
	held = diagnosis{passes: true, undone: true, advice: "another session holds a lock"}
	// The pool drops the connection.
	locked = diagnosis{sentinel: leasestore.ErrNotDurable, passes: true, undone: true,
		advice: "the handle gave a connection with LOCK TABLES: UNLOCK TABLES before it goes back to the pool"}
	userLimit = diagnosis{sentinel: ErrUnreachable, passes: true, advice: "a limit of the user is reached, such as max_user_connections: ALTER USER, or start fewer processes at once"}
	noTLS     = diagnosis{sentinel: ErrAccessDenied, advice: "the server requires TLS: add tls=true to the DSN, or a Config with TLS"}
	// A user of 1045 may lack TLS, too.
	expired         = diagnosis{sentinel: ErrAccessDenied, advice: "the account is locked or its password has expired: ALTER USER"}
	mixedEngines    = diagnosis{undone: true, advice: "create all tables with ENGINE=InnoDB, as package schema has them"}
	statementFormat = diagnosis{undone: true, advice: "set binlog_format to ROW or MIXED, or leave the isolation level at REPEATABLE READ"}
)

// join returns the diagnosis of each number.
func join(numbers map[*diagnosis][]uint16) map[uint16]diagnosis {
	all := make(map[uint16]diagnosis)
	for d, list := range numbers {
		for _, n := range list {
			all[n] = *d
		}
	}
	return all
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

// mysqlBusy replaces MySQL's errors for statements inside a transaction: the isolation level cannot
// be set, and at the end of an XA transaction no table can be read.
func mysqlBusy(err error) error {
	const inProgress, atEnd = 1568, 1399
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && (e.Number == inProgress || e.Number == atEnd) {
		return openTransaction()
	}
	return err
}
