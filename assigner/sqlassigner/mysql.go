package sqlassigner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

func mysqlDialect() dialect {
	return dialect{
		name:   "MySQL",
		client: "uidring schema mysql %s | mysql your_database",
		files:  schema.MySQL,
		quote:  "`",
		// MySQL shows only tables that the user may see; statements that use others fail later.
		relations: "SELECT TABLE_NAME AS name, 1 AS place, @@lower_case_table_names > 0 AS folded FROM information_schema.TABLES " +
			"WHERE TABLE_SCHEMA = DATABASE() AND LOWER(TABLE_NAME) IN (?)",
		// A timestamp column converts from the time zone of the session; a datetime column does
		// not. Without the hint, an UPDATE of a row of a small table may scan the index of
		// EXPIRES_AT, and misses the row if another UPDATE moves its entry back meanwhile, at an
		// isolation level without gap locks.
		times: strings.NewReplacer("{key}", "FORCE INDEX (PRIMARY)", "{folded}", "LOWER(RTRIM(NAMESPACE))",
			"{now}", "CURRENT_TIMESTAMP", "{today}", "UTC_DATE()", "{utc}", "UTC_TIMESTAMP(6)",
			"{later}", "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND",
			"{clock}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
			"{expires}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', EXPIRES_AT)"),
		diagnose:  diagnoseMySQL,
		idle:      mysqlIdle,
		permanent: mysqlPermanent,
		status:    mysqlStatus,
	}
}

// mysqlPermanent returns an error for a table that is temporary on this connection. The server does
// not list such tables, and a qualified name does not help. No statement may come between this
// check and the write.
func mysqlPermanent(ctx context.Context, conn *sqlx.Conn, group []table) error {
	for _, t := range group {
		row, err := conn.QueryRowxContext(ctx, "SHOW CREATE TABLE "+t.full).SliceScan()
		if sentinel := diagnoseMySQL(err).sentinel; sentinel == ErrTableMissing || sentinel == ErrAccessDenied {
			continue // statements that use it fail later
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(fmt.Sprintf("%s", row[1]), "CREATE TEMPORARY") {
			return notDurable("table %s is TEMPORARY here, so that no other connection sees its rows: drop it", t.name)
		}
	}
	return nil
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

func mysqlStatus(ctx context.Context, conn *sqlx.Conn, group []table, status *leasestore.Status) error {
	known, err := mysqlVariables(ctx, conn, "SHOW SESSION VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', "+
		"'log_bin', 'sync_binlog', 'read_only', 'tx_read_only', 'transaction_read_only', 'server_id', 'server_uuid', "+
		"'gtid_slave_pos', 'wsrep_on')")
	if err != nil {
		return err
	}
	switch {
	case isOn(known["read_only"]):
		return fmt.Errorf("%w (read_only is on)", errReadOnly)
	case isOn(cmp.Or(known["tx_read_only"], known["transaction_read_only"])):
		return fmt.Errorf("%w (transaction_read_only is on)", errReadOnly)
	}
	engines, err := mysqlTables(ctx, conn, group)
	if err != nil {
		return err
	}
	replication, err := mysqlReplication(ctx, conn, known["server_uuid"] != "")
	status.Faults = append(append(mysqlSettings(known), engines...), replication...)
	status.Identity = mysqlIdentity(known, len(replication) > 0)
	return err
}

// mysqlSettings returns the faults in the variables of a server.
func mysqlSettings(known map[string]string) (faults []string) {
	for _, name := range [...]string{"innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog", "read_only"} {
		if _, ok := known[name]; !ok {
			return []string{"settings that are unknown (no variable " + name + "; allowed: a server with InnoDB, binary log and read_only, " +
				"such as MySQL and MariaDB): accept the risk only if acknowledged commits survive a crash, and only one server takes writes"}
		}
	}
	if flush := known["innodb_flush_log_at_trx_commit"]; flush != "1" {
		faults = append(faults, "innodb_flush_log_at_trx_commit="+flush+" (allowed: 1)")
	}
	if sync := known["sync_binlog"]; isOn(known["log_bin"]) && sync != "1" {
		faults = append(faults, "sync_binlog="+sync+" with log_bin on (allowed: 1)")
	}
	if isOn(known["wsrep_on"]) {
		faults = append(faults, "wsrep_on=ON (allowed: OFF; Galera has lost acknowledged writes in tests: accept the risk only if that "+
			"may repeat IDs)")
	}
	return faults
}

// isOn parses a boolean variable of MySQL, which is a number or a word, depending on the version.
func isOn(value string) bool { return value != "" && value != "0" && !strings.EqualFold(value, "OFF") }

// mysqlTables returns the tables whose engine may lose commits, or an error for a table whose
// primary key does not keep two processes apart. It ignores missing tables.
func mysqlTables(ctx context.Context, conn *sqlx.Conn, group []table) (faults []string, err error) {
	var columns []string
	var fields []any
	engines, keys := make([]sql.NullString, len(group)), make([]string, len(group))
	for i, t := range group { // one by one: the server looks up a name, and reads its folder for a list
		where := " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + t.name + "'"
		columns = append(columns, "(SELECT MAX(COALESCE(ENGINE, TABLE_TYPE)) FROM information_schema.TABLES"+where+")",
			"(SELECT COALESCE(GROUP_CONCAT(UPPER(COLUMN_NAME), COALESCE(CONCAT('(', SUB_PART, ')'), '') ORDER BY SEQ_IN_INDEX SEPARATOR ', '), '') "+
				"FROM information_schema.STATISTICS"+where+" AND INDEX_NAME = 'PRIMARY')")
		fields = append(fields, &engines[i], &keys[i])
	}
	if err := conn.QueryRowxContext(ctx, "SELECT "+strings.Join(columns, ", ")).Scan(fields...); err != nil {
		return nil, err
	}
	for i, t := range group {
		switch {
		case !engines[i].Valid:
		case t.key != "" && keys[i] != t.key:
			return nil, notDurable("table %s lacks its primary key (%s), and has (%s): two processes could have one row each; "+
				"create the table as package schema has it", t.name, t.key, keys[i])
		case !strings.EqualFold(engines[i].String, "InnoDB"):
			faults = append(faults, fmt.Sprintf("table %s with ENGINE=%s (allowed: InnoDB)", t.name, engines[i].String))
		}
	}
	return faults, nil
}

// mysqlReplication returns a fault for a server that takes writes and applies the writes of another
// server. MySQL shows that only to a user who may read the table.
func mysqlReplication(ctx context.Context, conn *sqlx.Conn, isMySQL bool) (faults []string, err error) {
	const advice = "allowed: 0; after a promotion: STOP %s; in a ring of primaries: accept the risk only if all processes write to one of them)"
	if !isMySQL {
		known, err := mysqlVariables(ctx, conn, "SHOW SESSION STATUS LIKE 'Slaves_running'") // unlike GLOBAL it adds up no sessions
		if n := known["Slaves_running"]; isOn(n) {
			faults = append(faults, "running replication threads (Slaves_running="+n+"; "+fmt.Sprintf(advice, "SLAVE"))
		}
		return faults, err
	}
	var n int
	err = conn.QueryRowxContext(ctx, "SELECT COUNT(*) FROM performance_schema.replication_applier_status "+
		"WHERE SERVICE_STATE = 'ON' AND CHANNEL_NAME NOT LIKE 'group\\_replication%'").Scan(&n)
	switch sentinel := diagnoseMySQL(err).sentinel; {
	case sentinel == ErrAccessDenied, sentinel == ErrTableMissing: // TiDB has no such table
		return nil, nil
	case n > 0:
		faults = append(faults, fmt.Sprintf("running replication threads (replication_applier_status: %d; "+advice, n, "REPLICA"))
	}
	return faults, err
}

// mysqlIdentity returns the server_uuid of MySQL, or the server_id of MariaDB with the position up
// to which the server has followed others: when it is promoted again, it has followed another one
// meanwhile. Servers that replicate from each other need different values of server_id. The
// server_uid of MariaDB follows host and port, so a restart in another container would change it.
// The nodes of Galera have no common identity that would change with lost commits.
func mysqlIdentity(known map[string]string, replicates bool) string {
	followed, identity := known["gtid_slave_pos"], "server_id "+known["server_id"]
	switch {
	case isOn(known["wsrep_on"]):
		return ""
	case known["server_uuid"] != "":
		return known["server_uuid"]
	case followed == "" || replicates: // with AllowUndurable; the position moves
		return identity
	}
	const most = 64
	if len(followed) > most { // it has a part for each domain
		followed = fmt.Sprintf("%x", sha256.Sum256([]byte(followed)))
	}
	return identity + " after " + followed
}

// mysqlVariables returns the results of a SHOW statement by name.
func mysqlVariables(ctx context.Context, conn *sqlx.Conn, show string) (map[string]string, error) {
	known := make(map[string]string)
	return known, each(ctx, conn, show, nil, func(rows *sqlx.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		known[name] = value
		return err
	})
}
