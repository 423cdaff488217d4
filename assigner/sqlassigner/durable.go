package sqlassigner

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// checkDurable returns an error for a database that may forget commits to the tables with these
// names, or logs a warning with AllowUndurable. things are the rows' contents, for the texts. The
// package documentation lists the settings.
func (s *store) checkDurable(ctx context.Context, conn *sqlx.Conn, names []string, things string) error {
	var status assigner.Status
	if err := s.dialect.status(ctx, conn, names, &status); err != nil {
		return err
	}
	return s.judge(ctx, status.Faults, things)
}

// judge returns an error for faults, or logs a warning for each with AllowUndurable.
func (s *store) judge(ctx context.Context, faults []string, things string) error {
	if len(faults) > 0 && !s.cfg.AllowUndurable {
		return final("%w: %s has %s: a crash may make it forget %s and hand them out again; "+
			"correct that, or set Config.AllowUndurable", assigner.ErrStoreNotDurable, s.dialect.name,
			strings.Join(faults, ", "), things)
	}
	for _, fault := range faults {
		s.cfg.logger().LogAttrs(ctx, slog.LevelWarn, "sqlassigner: a crash may make the database hand out "+things+" twice",
			slog.String("database", s.dialect.name), slog.String("fault", fault))
	}
	return nil
}

func mysqlStatus(ctx context.Context, conn *sqlx.Conn, names []string, status *assigner.Status) (err error) {
	if status.Faults, err = mysqlFaults(ctx, conn, names); err != nil {
		return err
	}
	return mysqlIdentity(ctx, conn, status)
}

func mysqlFaults(ctx context.Context, conn *sqlx.Conn, names []string) (faults []string, err error) {
	var flush, binlog, sync, readOnly string
	columns := []string{"@@global.innodb_flush_log_at_trx_commit", "@@global.log_bin", "@@global.sync_binlog", "@@global.read_only"}
	fields := []any{&flush, &binlog, &sync, &readOnly}
	engines := make([]sql.NullString, len(names))
	for i, name := range names { // one by one: the server looks up a name, and reads its folder for a list
		columns = append(columns, "(SELECT MAX(COALESCE(ENGINE, TABLE_TYPE)) FROM information_schema.TABLES "+
			"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '"+name+"')")
		fields = append(fields, &engines[i])
	}
	err = conn.QueryRowxContext(ctx, "SELECT "+strings.Join(columns, ", ")).Scan(fields...)
	if unknownVariable(err) {
		return []string{"settings that are unknown (" + err.Error() + "; allowed: a server with InnoDB, binary log and read_only, such " +
			"as MySQL and MariaDB): accept the risk only if acknowledged commits survive a crash, and only one server takes writes"}, nil
	}
	if err != nil {
		return nil, err
	}
	if isOn(readOnly) {
		return nil, fmt.Errorf("%w (read_only is on)", errReadOnly)
	}
	if flush != "1" {
		faults = append(faults, "innodb_flush_log_at_trx_commit="+flush+" (allowed: 1)")
	}
	if isOn(binlog) && sync != "1" {
		faults = append(faults, "sync_binlog="+sync+" with log_bin on (allowed: 1)")
	}
	for i, engine := range engines {
		if engine.Valid && !strings.EqualFold(engine.String, "InnoDB") {
			faults = append(faults, fmt.Sprintf("table %s with ENGINE=%s (allowed: InnoDB)", names[i], engine.String))
		}
	}
	return faults, nil
}

// isOn parses a boolean variable of MySQL, which is a number or a word, depending on the version.
func isOn(value string) bool { return value != "0" && !strings.EqualFold(value, "OFF") }

func postgresStatus(ctx context.Context, conn *sqlx.Conn, names []string, status *assigner.Status) (err error) {
	if status.Faults, err = postgresFaults(ctx, conn, names); err != nil {
		return err
	}
	status.Identity, err = postgresIdentity(ctx, conn)
	return err
}

func postgresFaults(ctx context.Context, conn *sqlx.Conn, names []string) (faults []string, err error) {
	var commit, fsync, readOnly string
	var recovery bool
	columns := []string{"current_setting('synchronous_commit')", "current_setting('fsync')",
		"current_setting('transaction_read_only')", "pg_is_in_recovery()"}
	fields := []any{&commit, &fsync, &readOnly, &recovery}
	unlogged := make([]sql.NullBool, len(names))
	for i, name := range names {
		columns = append(columns, `(SELECT relpersistence = 'u' FROM pg_class WHERE oid = to_regclass('"`+name+`"'))`)
		fields = append(fields, &unlogged[i])
	}
	err = conn.QueryRowxContext(ctx, "SELECT "+strings.Join(columns, ", ")).Scan(fields...)
	switch {
	case err != nil:
		return nil, err
	case recovery:
		return nil, fmt.Errorf("%w (it is in recovery)", errReadOnly)
	case readOnly != "off":
		return nil, fmt.Errorf("%w (transaction_read_only is on)", errReadOnly)
	}
	if commit == "off" {
		faults = append(faults, "synchronous_commit=off (allowed: all others)")
	}
	if fsync != "on" {
		faults = append(faults, "fsync="+fsync+" (allowed: on)")
	}
	for i, name := range names {
		if unlogged[i].Bool {
			faults = append(faults, "table "+name+" UNLOGGED (allowed: LOGGED)")
		}
	}
	return faults, nil
}

func sqliteStatus(ctx context.Context, conn *sqlx.Conn, _ []string, status *assigner.Status) error {
	var synchronous, queryOnly int
	var journal string
	for _, pragma := range [...]struct {
		name  string
		value any
	}{{"query_only", &queryOnly}, {"synchronous", &synchronous}, {"journal_mode", &journal}} {
		if err := conn.QueryRowxContext(ctx, "PRAGMA "+pragma.name).Scan(pragma.value); err != nil {
			return err
		}
	}
	if queryOnly != 0 {
		return final("%w: cannot take a worker ID: PRAGMA query_only is on", ErrAccessDenied)
	}
	status.Faults = sqliteSettings(synchronous, strings.ToLower(journal))
	return nil
}

// sqliteSettings returns the faults in the settings of SQLite. With DELETE a commit removes the
// journal, and only EXTRA syncs the folder after that: if a power cut restores the journal, the
// last commit is undone.
func sqliteSettings(synchronous int, journal string) (faults []string) {
	const full, extra = 2, 3
	switch {
	case journal == "delete" && synchronous < extra:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d with journal_mode=delete (allowed: 3 EXTRA; 2 FULL with "+
			"journal_mode WAL, TRUNCATE, PERSIST)", synchronous))
	case synchronous < full:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d (allowed: 2 FULL, 3 EXTRA)", synchronous))
	}
	if journal == "memory" || journal == "off" {
		faults = append(faults, "PRAGMA journal_mode="+journal+" (allowed: DELETE, TRUNCATE, PERSIST, WAL)")
	}
	return faults
}
