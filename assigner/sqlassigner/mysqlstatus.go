package sqlassigner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
)

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
