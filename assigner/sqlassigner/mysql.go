package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

// The way of a renewal ends here: session.go calls these funcs, which ask MySQL and MariaDB.
// mysqlfaults.go and mysqlerrors.go judge the answers.

func mysqlDialect(logger *slog.Logger) dialect {
	m := &mysqlServer{logger: logger}
	return dialect{
		name:       "MySQL",
		client:     "uidring schema mysql %s | mysql your_database",
		files:      schema.MySQL,
		quote:      "`",
		showsEarly: true,
		// MySQL shows only tables that the user may see; statements that use others fail later.
		relations: "SELECT '', TABLE_NAME, 1, @@lower_case_table_names > 0 FROM information_schema.TABLES " +
			"WHERE TABLE_SCHEMA = DATABASE() AND LOWER(TABLE_NAME) IN (?)" + everyRow,
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
	variables fact[[]string] // that the server has
	foreign   atomic.Bool    // the server lacks one of oracleVariables
	blind     fact[struct{}] // the user may not see replication
	alone     atomic.Bool    // the user may not see the group, and never will: the identity would change
}

// look asks all in one SELECT. The first look, and others after factFor, also ask which variables
// the server has.
func (m *mysqlServer) look(ctx context.Context, conn *session, group []table, status *leasestore.Status) error {
	_, cached := m.variables.known()
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
	columns = append(columns, replication, member, "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", "DATABASE()")
	values := make([]sql.NullString, len(columns))
	fields := make([]any, len(columns))
	for i := range values {
		fields[i] = &values[i]
	}
	// Without the names c, the server would send the text of each expression back.
	err = conn.QueryRowxContext(ctx, "SELECT "+strings.Join(columns, " c, ")+" c").Scan(fields...)
	// Another look at the same time may have learned first why this one fails.
	switch d := diagnoseMySQL(err); {
	case unseen(err) && (m.leavesGroup(ctx, conn, member) || m.leavesReplication(ctx, conn, replication)):
		return m.look(ctx, conn, group, status)
	case d == noVariable:
		m.variables.forget() // it is another server
		if m.foreign.CompareAndSwap(false, true) || cached {
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
	return mysqlLook{known, group, rest[:2*len(group)], rest[2*len(group)].String, rest[2*len(group)+1], rest[2*len(group)+2].String, rest[2*len(group)+3].String}.judge(conn, status)
}

// mysqlIdle proves that a connection commits each statement and is outside any transaction, unless
// a look has. MySQL has no variable for that, but inside a transaction it rejects setting the
// isolation level of the next one. mysqlIdle sets the session's own level, which changes nothing.
// MySQL, unlike MariaDB, does not open a TEMPORARY table twice in a statement, so the same
// statement proves that each table of the group is permanent.
func mysqlIdle(ctx context.Context, conn *session, group []table) error {
	if !conn.commits {
		row := conn.QueryRowxContext(ctx, "SELECT @@session.autocommit /*M!, @@in_transaction, @@sql_mode */")
		columns, err := row.Columns()
		if err != nil {
			return err
		}
		autocommit, inside, mode := "", "", ""
		if err := row.Scan([]any{&autocommit, &inside, &mode}[:len(columns)]...); err != nil {
			return err
		}
		if err := mysqlCommits(conn, autocommit, inside, mode, len(columns) > 1); err != nil {
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
	statement := "SET @@transaction_isolation = @@session.transaction_isolation"
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
