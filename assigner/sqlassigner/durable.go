package sqlassigner

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// checkDurable returns an error for a database that may forget commits to these tables, or logs a
// warning with AllowUndurable. things are the rows' contents, for the texts. The package
// documentation lists the settings.
func (s *store) checkDurable(ctx context.Context, conn *sqlx.Conn, group []table, things string) error {
	status, err := s.status(ctx, conn, group)
	if err != nil {
		return err
	}
	if faults := status.Faults; len(faults) > 0 && !s.cfg.AllowUndurable {
		return final("%w: %s has %s: a crash may make it forget %s and hand them out again; "+
			"correct that, or set Config.AllowUndurable", assigner.ErrStoreNotDurable, s.dialect.name,
			strings.Join(faults, ", "), things)
	}
	for _, fault := range status.Faults {
		s.cfg.logger().LogAttrs(ctx, slog.LevelWarn, "sqlassigner: a crash may make the database hand out "+things+" twice",
			slog.String("database", s.dialect.name), slog.String("fault", fault))
	}
	return nil
}

func postgresStatus(ctx context.Context, conn *sqlx.Conn, group []table, status *leasestore.Status) (err error) {
	if status.Faults, err = postgresFaults(ctx, conn, group); err != nil {
		return err
	}
	status.Identity, err = postgresIdentity(ctx, conn)
	return err
}

func postgresFaults(ctx context.Context, conn *sqlx.Conn, group []table) (faults []string, err error) {
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
	err = conn.QueryRowxContext(ctx, sqlx.Rebind(sqlx.DOLLAR, "SELECT "+strings.Join(columns, ", ")), values...).Scan(fields...)
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
	for i, t := range group {
		if kinds[i].Valid && kinds[i].String != ordinary {
			faults = append(faults, fmt.Sprintf("table %s, which is %s (allowed: an ordinary permanent table)", t.name, postgresKind(kinds[i].String)))
		}
	}
	return faults, nil
}

// ordinary is the relkind and the relpersistence of a permanent table.
const ordinary = "rp"

// postgresKind describes the kind of a relation. A view and a partitioned table have the
// persistence of other tables.
func postgresKind(kind string) string {
	if kind == "ru" {
		return "UNLOGGED"
	}
	name, ok := map[byte]string{'v': "a view", 'm': "a materialized view", 'p': "partitioned", 'f': "a foreign table"}[kind[0]]
	if !ok {
		return "of the kind " + kind
	}
	return name
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
