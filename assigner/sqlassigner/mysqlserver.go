package sqlassigner

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"
)

// mysqlVariables are read by each look, unless the server lacks them. Only MariaDB has
// in_transaction.
const mysqlVariables = "'autocommit', 'in_transaction', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'read_only', " +
	"'sql_mode', 'tx_read_only', 'transaction_read_only', 'server_id', 'server_uuid', 'gtid_slave_pos', 'wsrep_on', 'hostname', 'port', " + groupVariables

// oracleVariables are the variables of mysqlVariables that Oracle's MySQL has.
var oracleVariables = []string{"autocommit", "innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog", "read_only", "transaction_read_only", "server_id", "server_uuid", "hostname", "port"}

// learn returns the names of the variables that the server has. A server without wsrep_on is taken
// for Oracle's MySQL at first, where SHOW VARIABLES costs as much as the rest of a start, and more
// when many processes start at once.
func (m *mysqlServer) learn(ctx context.Context, conn *session) (names []string, err error) {
	if names, ok := m.variables.known(); ok {
		return names, nil
	}
	show := m.foreign.Load()
	if !show {
		show, err = mysqlHas(ctx, conn, "wsrep_on")
	}
	inGroup := false
	if err == nil && !show {
		inGroup, err = mysqlHas(ctx, conn, "group_replication_group_name")
	}
	switch {
	case err != nil:
		return nil, mysqlBusy(err)
	case show:
		// SHOW has no LIMIT, see everyRow. MariaDB ignores comments for MySQL 5.7 and later.
		err = each(ctx, conn, "/*M! SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES *//*!50700 SHOW SESSION VARIABLES */ "+
			"WHERE VARIABLE_NAME IN ("+mysqlVariables+") /*M!"+everyRow+" */", nil, func(rows *sqlx.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			names = append(names, strings.ToLower(name))
			return err
		})
	case inGroup:
		names = append(strings.Split(strings.ReplaceAll(groupVariables, "'", ""), ", "), oracleVariables...)
	default:
		names = oracleVariables
	}
	if err == nil {
		m.variables.learn(names)
	}
	return names, mysqlBusy(err)
}

// mysqlHas reports whether the server has a variable.
func mysqlHas(ctx context.Context, conn *session, variable string) (bool, error) {
	var value sql.NullString
	err := conn.QueryRowxContext(ctx, "SELECT @@"+variable).Scan(&value)
	if diagnoseMySQL(err) == noVariable {
		return false, nil
	}
	return err == nil, err
}

// mysqlKeyColumn returns an expression for a column of a primary key. GROUP_CONCAT would depend on
// a variable of the server, and so would NULL as an argument of CONCAT and an empty text.
func mysqlKeyColumn(n int) string {
	return fmt.Sprintf("MAX(CASE WHEN SEQ_IN_INDEX <> %d THEN NULL WHEN SUB_PART IS NULL THEN UPPER(COLUMN_NAME) "+
		"ELSE CONCAT(UPPER(COLUMN_NAME), '(', SUB_PART, ')') END)", n)
}

// mysqlAppliers is an expression for the number of running threads that apply the writes of another
// server.
const mysqlAppliers = "(SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON' AND " +
	"CHANNEL_NAME NOT LIKE 'group\\_replication%')"

// replication returns mysqlAppliers, or its substitute.
func (m *mysqlServer) replication(mariaDB bool) string {
	switch _, blind := m.blind.known(); {
	case mariaDB: // unlike GLOBAL_STATUS it adds up no sessions
		return "(SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Slaves_running')"
	case blind:
		return "0"
	}
	return mysqlAppliers
}

// unseen reports whether the server lacks a table, or the user the right to see it. An error about
// the account, such as an expired password, says nothing of either.
func unseen(err error) bool {
	d := diagnoseMySQL(err)
	return d == noRight || d == noTable
}

// leavesReplication reports whether the user may not see mysqlAppliers, or the server has no such
// table, as TiDB. Later looks do without it. The error of the look may be about another table, so
// leavesReplication asks again for the threads alone.
func (m *mysqlServer) leavesReplication(ctx context.Context, conn *session, asked string) bool {
	if asked != mysqlAppliers {
		return false
	}
	err := conn.QueryRowxContext(ctx, "SELECT "+mysqlAppliers).Scan(new(int))
	if !unseen(err) {
		return false
	}
	if m.blind.learn(struct{}{}) && diagnoseMySQL(err) == noRight {
		m.logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: cannot see whether the server applies writes of another server",
			slog.String("remedy", "GRANT SELECT ON performance_schema.replication_applier_status to the user"), slog.Any("error", err))
	}
	return true
}
