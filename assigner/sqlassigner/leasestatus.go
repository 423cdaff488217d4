package sqlassigner

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
)

// Status reads the clock last, since the caller compares it with its own clock.
func (l *leases) Status(ctx context.Context) (leasestore.Status, error) {
	return ask(ctx, l.store, "look at the server", func(ctx context.Context, conn *sqlx.Conn) (leasestore.Status, error) {
		status, err := l.store.status(ctx, conn, leaseTables())
		if err != nil {
			return status, err
		}
		var clock int64
		err = conn.QueryRowxContext(ctx, l.store.sql("SELECT {clock}")).Scan(&clock)
		status.Now = time.UnixMicro(clock).UTC()
		return status, err
	})
}

// status returns the identity of the server or file, and all faults.
func (s *store) status(ctx context.Context, conn *sqlx.Conn, group []table) (status leasestore.Status, err error) {
	err = s.dialect.status(ctx, conn, s.tables.of(group), &status)
	if err == nil && s.dialect.file != nil {
		err = s.dialect.file.look(ctx, conn, &status)
	}
	return status, err
}

// postgresIdentity returns the system identifier, which initdb has set, and the timeline, which
// changes with a point-in-time recovery and the promotion of a replica. It reads the timeline from
// the name of the present WAL file, since the control file is updated later. It returns "" if the
// user may not call these functions.
func postgresIdentity(ctx context.Context, conn *sqlx.Conn) (identity string, err error) {
	err = conn.QueryRowxContext(ctx, "SELECT system_identifier || ' timeline ' || "+
		"substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()").Scan(&identity)
	if state, _ := sqlState(err); state == "42501" || state == "42883" { // no right, no such function
		return "", nil
	}
	return identity, err
}
