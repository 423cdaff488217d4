package sqlassigner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

func mysqlDialect(logger *slog.Logger) dialect {
	m := &mysqlServer{logger: logger}
	return dialect{
		name:   "MySQL",
		client: "uidring schema mysql %s | mysql your_database",
		files:  schema.MySQL,
		quote:  "`",
		// MySQL shows only tables that the user may see; statements that use others fail later.
		relations: "SELECT '', TABLE_NAME, 1, @@lower_case_table_names > 0 FROM information_schema.TABLES " +
			"WHERE TABLE_SCHEMA = DATABASE() AND LOWER(TABLE_NAME) IN (?)",
		// A timestamp column converts from the time zone of the session; a datetime column does
		// not. Without the hint, an UPDATE of a row of a small table may scan the index of
		// EXPIRES_AT, and misses the row if another UPDATE moves its entry back meanwhile, at an
		// isolation level without gap locks.
		times: strings.NewReplacer("{key}", "FORCE INDEX (PRIMARY)",
			"{unlocked}", " /*!80001 FOR UPDATE SKIP LOCKED */ /*M!100600 FOR UPDATE SKIP LOCKED */", "{folded}", "LOWER(RTRIM(NAMESPACE))",
			"{now}", "CURRENT_TIMESTAMP", "{today}", "UTC_DATE()", "{utc}", "UTC_TIMESTAMP(6)",
			"{later}", "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND",
			"{expires}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', EXPIRES_AT)"),
		diagnose:  diagnoseMySQL,
		look:      m.look,
		idle:      mysqlIdle,
		permanent: mysqlPermanent,
	}
}

// A mysqlServer holds facts about the server of a store. Any number of goroutines may use it at
// once.
type mysqlServer struct {
	logger    *slog.Logger
	variables atomic.Pointer[[]string] // that the server has
	foreign   atomic.Bool              // the server lacks one of oracleVariables
	blind     atomic.Bool              // the user may not see replication
	alone     atomic.Bool              // the user may not see the group
}

// mysqlVariables are read by each look, unless the server lacks them. Only MariaDB has
// in_transaction.
const mysqlVariables = "'autocommit', 'in_transaction', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'read_only', " +
	"'tx_read_only', 'transaction_read_only', 'server_id', 'server_uuid', 'gtid_slave_pos', 'wsrep_on', " + groupVariables

// oracleVariables are the variables of mysqlVariables that Oracle's MySQL has.
var oracleVariables = []string{"autocommit", "innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog", "read_only", "transaction_read_only", "server_id", "server_uuid"}

// learn returns the names of the variables that the server has. A server without wsrep_on is taken
// for Oracle's MySQL at first, where SHOW VARIABLES costs as much as the rest of a start, and more
// when many processes start at once.
func (m *mysqlServer) learn(ctx context.Context, conn *session) (names []string, err error) {
	if known := m.variables.Load(); known != nil {
		return *known, nil
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
		err = each(ctx, conn, "SHOW SESSION VARIABLES WHERE Variable_name IN ("+mysqlVariables+")", nil, func(rows *sqlx.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			names = append(names, name)
			return err
		})
	case inGroup:
		names = append(strings.Split(strings.ReplaceAll(groupVariables, "'", ""), ", "), oracleVariables...)
	default:
		names = oracleVariables
	}
	if err == nil {
		m.variables.Store(&names)
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

// look asks all in one SELECT. The first look of a process also asks which variables the server
// has.
func (m *mysqlServer) look(ctx context.Context, conn *session, group []table, status *leasestore.Status) error {
	foreign := m.foreign.Load()
	names, err := m.learn(ctx, conn)
	if err != nil {
		return err
	}
	replication, member := m.replication(slices.Contains(names, "in_transaction")), m.member(names)
	var columns []string
	for _, name := range names {
		columns = append(columns, "@@"+name)
	}
	for _, t := range group { // one by one: the server looks up a name, and reads its folder for a list
		where := " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + t.name + "'"
		columns = append(columns, "(SELECT MAX(COALESCE(ENGINE, TABLE_TYPE)) FROM information_schema.TABLES"+where+")",
			"(SELECT CONCAT_WS(', ', "+mysqlKeyColumn(1)+", "+mysqlKeyColumn(2)+", "+mysqlKeyColumn(3)+") FROM information_schema.STATISTICS"+
				where+" AND INDEX_NAME = 'PRIMARY')")
	}
	columns = append(columns, replication, member, "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
	values := make([]sql.NullString, len(columns))
	fields := make([]any, len(columns))
	for i := range values {
		fields[i] = &values[i]
	}
	err = conn.QueryRowxContext(ctx, "SELECT "+strings.Join(columns, ", ")).Scan(fields...)
	// Another look at the same time may have learned first why this one fails.
	switch d := diagnoseMySQL(err); {
	case unseen(err) && (m.leavesGroup(ctx, conn, member) || m.leavesReplication(ctx, err, replication)):
		return m.look(ctx, conn, group, status)
	case d == noVariable:
		m.variables.Store(nil) // it is another server
		if !foreign {
			m.foreign.Store(true)
			return m.look(ctx, conn, group, status)
		}
	}
	if err != nil {
		return mysqlBusy(err)
	}
	known := make(map[string]string)
	for i, name := range names {
		known[name] = values[i].String
	}
	rest := values[len(names):]
	return mysqlLook{known, group, rest[:2*len(group)], rest[2*len(group)].String, rest[2*len(group)+1], rest[2*len(group)+2].String}.judge(conn, status)
}

// mysqlKeyColumn returns an expression for a column of a primary key. GROUP_CONCAT would depend on
// a variable of the server.
func mysqlKeyColumn(n int) string {
	return fmt.Sprintf("MAX(CASE SEQ_IN_INDEX WHEN %d THEN CONCAT(UPPER(COLUMN_NAME), COALESCE(CONCAT('(', SUB_PART, ')'), '')) END)", n)
}

// mysqlAppliers is an expression for the number of running threads that apply the writes of another
// server.
const mysqlAppliers = "(SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON' AND " +
	"CHANNEL_NAME NOT LIKE 'group\\_replication%')"

// replication returns mysqlAppliers, or its substitute.
func (m *mysqlServer) replication(mariaDB bool) string {
	switch {
	case mariaDB: // unlike GLOBAL_STATUS it adds up no sessions
		return "(SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Slaves_running')"
	case m.blind.Load():
		return "0"
	}
	return mysqlAppliers
}

// unseen reports whether the server lacks a table, or the user the right to see it.
func unseen(err error) bool {
	sentinel := diagnoseMySQL(err).sentinel
	return sentinel == ErrAccessDenied || sentinel == ErrTableMissing
}

// leavesReplication reports whether a look has asked for mysqlAppliers in vain. Later looks do
// without it. TiDB has no such table.
func (m *mysqlServer) leavesReplication(ctx context.Context, err error, asked string) bool {
	if asked != mysqlAppliers {
		return false
	}
	if m.blind.CompareAndSwap(false, true) && diagnoseMySQL(err).sentinel == ErrAccessDenied {
		m.logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: cannot see whether the server applies writes of another server",
			slog.String("remedy", "GRANT SELECT ON performance_schema.replication_applier_status to the user"), slog.Any("error", err))
	}
	return true
}

// A mysqlLook is the result of a look.
type mysqlLook struct {
	known       map[string]string // variables
	group       []table
	tables      []sql.NullString // the engine and the primary key of each
	replicating string
	member      sql.NullString // of Group Replication, see mysqlServer.member
	clock       string         // microseconds since 1970
}

// judge sets the status, and notes facts about the connection in the session.
func (l mysqlLook) judge(conn *session, status *leasestore.Status) error {
	inside, isMariaDB := l.known["in_transaction"]
	if err := mysqlCommits(conn, l.known["autocommit"], inside, isMariaDB); err != nil {
		return err
	}
	switch {
	case isOn(l.known["read_only"]):
		return fmt.Errorf("%w (read_only is on)", errReadOnly)
	case isOn(cmp.Or(l.known["tx_read_only"], l.known["transaction_read_only"])):
		return fmt.Errorf("%w (transaction_read_only is on)", errReadOnly)
	}
	status.Faults = mysqlSettings(l.known)
	for i, t := range l.group {
		engine, key := l.tables[2*i], l.tables[2*i+1].String
		switch {
		case !engine.Valid: // missing
		case t.key != "" && key != t.key:
			return notDurable("table %s lacks its primary key (%s), and has (%s): two processes could have one row each; "+
				"create the table as package schema has it", t.name, t.key, key)
		case !strings.EqualFold(engine.String, "InnoDB"):
			status.Faults = append(status.Faults, fmt.Sprintf("table %s with ENGINE=%s (allowed: InnoDB)", t.name, engine.String))
		}
	}
	replicates := isOn(l.replicating)
	if replicates {
		name, statement := "replication_applier_status", "REPLICA"
		if isMariaDB {
			name, statement = "Slaves_running", "SLAVE"
		}
		status.Faults = append(status.Faults, fmt.Sprintf("running replication threads (%s=%s; allowed: 0; after a promotion: STOP %s; in a ring of primaries: "+
			"accept the risk only if all processes write to one of them)", name, l.replicating, statement))
	}
	group, fault, err := mysqlGroup(l.known, l.member)
	if err != nil {
		return err
	}
	if fault != "" {
		status.Faults = append(status.Faults, fault)
	}
	status.Identity = cmp.Or(group, mysqlIdentity(l.known, replicates))
	clock, err := strconv.ParseInt(l.clock, 10, 64)
	status.Now = time.UnixMicro(clock).UTC()
	return err
}

// mysqlCommits notes that each statement on a connection commits, or returns an error. MariaDB also
// tells whether a transaction is open.
func mysqlCommits(conn *session, autocommit, inside string, isMariaDB bool) error {
	switch {
	case !isOn(autocommit):
		return notDurable("the handle gave a connection with autocommit=0 (allowed: 1): the end of the connection would take a " +
			"worker ID back; leave autocommit on, in the DSN and in each session")
	case isMariaDB && isOn(inside):
		return openTransaction()
	}
	conn.commits, conn.idle = true, conn.idle || isMariaDB
	return nil
}

// mysqlIdle proves that a connection commits each statement and is outside any transaction, unless
// a look has. MySQL has no variable for that, but inside a transaction it rejects setting the
// isolation level of the next one. mysqlIdle sets the session's own level, which changes nothing.
// MySQL, unlike MariaDB, does not open a TEMPORARY table twice in a statement, so the same
// statement proves that each table of the group is permanent.
func mysqlIdle(ctx context.Context, conn *session, group []table) error {
	if !conn.commits {
		row := conn.QueryRowxContext(ctx, "SELECT @@session.autocommit /*M!, @@in_transaction */")
		columns, err := row.Columns()
		if err != nil {
			return err
		}
		autocommit, inside := "", ""
		if err := row.Scan([]any{&autocommit, &inside}[:len(columns)]...); err != nil {
			return err
		}
		if err := mysqlCommits(conn, autocommit, inside, len(columns) == 2); err != nil {
			return err
		}
	}
	if conn.idle { // MariaDB
		return nil
	}
	var twice []string
	for i, t := range group {
		twice = append(twice, fmt.Sprintf("%s a%d, %[1]s b%[2]d", t.full, i))
	}
	const set = "SET @@transaction_isolation = @@session.transaction_isolation"
	statement := set
	if len(twice) > 0 {
		statement = "SET @@transaction_isolation = (SELECT IF(COUNT(*) = 0, @@session.transaction_isolation, '') FROM " + strings.Join(twice, ", ") + " WHERE FALSE)"
	}
	_, err := conn.ExecContext(ctx, statement)
	const opensTwice = 1137
	e, _ := errors.AsType[*mysql.MySQLError](err)
	switch sentinel := diagnoseMySQL(err).sentinel; {
	case err == nil:
		for _, t := range group {
			conn.permanent = append(conn.permanent, t.full)
		}
		return nil
	case e != nil && e.Number == opensTwice:
		return mysqlPermanent(ctx, conn, group)
	case len(group) > 0 && (sentinel == ErrTableMissing || sentinel == ErrAccessDenied): // for one of several tables
		return mysqlIdle(ctx, conn, nil)
	}
	return mysqlBusy(err)
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

// mysqlPermanent returns an error for a table that is temporary on this connection. The server does
// not list such tables, and a qualified name does not help.
func mysqlPermanent(ctx context.Context, conn *session, group []table) error {
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
