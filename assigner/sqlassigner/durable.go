package sqlassigner

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
)

// status returns the identity of the server or file, and all faults.
func (s *store) status(ctx context.Context, conn *sqlx.Conn, group []table) (status leasestore.Status, err error) {
	err = s.dialect.status(ctx, conn, s.known(group), &status)
	if err == nil && s.dialect.isFile {
		err = s.file.look(ctx, conn, &status)
	}
	return status, err
}

// checkDurable returns an error for a database that may forget commits to these tables, or logs a
// warning with AllowUndurable. things are the rows' contents, for the texts. The package
// documentation lists the settings.
func (s *store) checkDurable(ctx context.Context, conn *sqlx.Conn, group []table, things string) error {
	status, err := s.status(ctx, conn, group)
	if err != nil {
		return err
	}
	if faults := status.Faults; len(faults) > 0 && !s.cfg.AllowUndurable {
		return notDurable("%s has %s: a crash may make it forget %s and hand them out again; correct that, or set Config.AllowUndurable",
			s.dialect.name, strings.Join(faults, ", "), things)
	}
	for _, fault := range status.Faults {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: a crash may make the database hand out "+things+" twice",
			slog.String("database", s.dialect.name), slog.String("fault", fault))
	}
	return nil
}

func postgresStatus(ctx context.Context, conn *sqlx.Conn, group []table, status *leasestore.Status) (err error) {
	var commit, fsync, readOnly string
	var recovery bool
	columns := []string{"current_setting('synchronous_commit')", "current_setting('fsync')",
		"current_setting('transaction_read_only')", "pg_is_in_recovery()"}
	fields := []any{&commit, &fsync, &readOnly, &recovery}
	var values []any
	kinds := make([]sql.NullString, len(group))
	for i, t := range group {
		columns = append(columns, `(SELECT CAST(relkind AS text) || CAST(relpersistence AS text) FROM pg_class WHERE oid = to_regclass(?))`)
		fields, values = append(fields, &kinds[i]), append(values, t.full)
	}
	err = conn.QueryRowxContext(ctx, conn.Rebind("SELECT "+strings.Join(columns, ", ")), values...).Scan(fields...)
	switch {
	case err != nil:
		return err
	case recovery:
		return fmt.Errorf("%w (it is in recovery)", errReadOnly)
	case readOnly != "off":
		return fmt.Errorf("%w (transaction_read_only is on)", errReadOnly)
	}
	if commit == "off" {
		status.Faults = append(status.Faults, "synchronous_commit=off (allowed: all others)")
	}
	if fsync != "on" {
		status.Faults = append(status.Faults, "fsync="+fsync+" (allowed: on)")
	}
	for i, t := range group {
		if kind := kinds[i]; kind.Valid && kind.String != "rp" { // an ordinary, permanent table
			status.Faults = append(status.Faults, fmt.Sprintf("table %s, which is %s (allowed: an ordinary permanent table)", t.name, postgresKind(kind.String)))
		}
	}
	status.Identity, err = postgresIdentity(ctx, conn)
	return err
}

// postgresKind describes a relkind and relpersistence. A view and a partitioned table have the
// persistence of other tables.
func postgresKind(kind string) string {
	if kind == "ru" {
		return "UNLOGGED"
	}
	names := map[byte]string{'v': "a view", 'm': "a materialized view", 'p': "partitioned", 'f': "a foreign table"}
	return cmp.Or(names[kind[0]], "of the kind "+kind)
}

// postgresIdentity returns the system identifier, which initdb has set, and the timeline, which
// changes with a point-in-time recovery and the promotion of a replica. It reads the timeline from
// the name of the present WAL file, since the control file is updated later. It returns "" if the
// user may not call these functions.
func postgresIdentity(ctx context.Context, conn *sqlx.Conn) (identity string, err error) {
	err = conn.QueryRowxContext(ctx, "SELECT system_identifier || ' timeline ' || "+
		"substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()").Scan(&identity)
	if state := sqlState(err); state == "42501" || state == "42883" { // no right, no such function
		return "", nil
	}
	return identity, err
}

func sqliteStatus(ctx context.Context, conn *sqlx.Conn, _ []table, status *leasestore.Status) error {
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
	const dsn = "such as file:ids.db?_pragma=synchronous(EXTRA), with mattn/go-sqlite3 file:ids.db?_synchronous=EXTRA)"
	switch {
	case journal == "delete" && synchronous < extra:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d with journal_mode=delete (allowed: 3 EXTRA; 2 FULL with "+
			"journal_mode WAL, TRUNCATE, PERSIST; "+dsn, synchronous))
	case synchronous < full:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d (allowed: 2 FULL, 3 EXTRA; "+dsn, synchronous))
	}
	if journal == "memory" || journal == "off" {
		faults = append(faults, "PRAGMA journal_mode="+journal+" (allowed: DELETE, TRUNCATE, PERSIST, WAL)")
	}
	return faults
}
