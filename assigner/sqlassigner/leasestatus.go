package sqlassigner

import (
	"context"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// Status reads the clock last, since the caller compares it with its own clock.
func (l *leases) Status(ctx context.Context) (status assigner.Status, err error) {
	if l.err != nil {
		return status, l.err
	}
	err = l.store.look(ctx, "look at the server", func(ctx context.Context, conn *sqlx.Conn) (err error) {
		if status.Faults, err = l.store.dialect.faults(ctx, conn, l.store.tables.names(leaseTables())); err != nil {
			return err
		}
		if err = l.store.dialect.look(ctx, conn, &status); err != nil {
			return err
		}
		var clock int64
		err = conn.QueryRowxContext(ctx, l.store.sql("SELECT {clock}")).Scan(&clock)
		status.Now = time.UnixMicro(clock).UTC()
		return err
	})
	if err != nil {
		return assigner.Status{}, err
	}
	return status, nil
}

// mysqlIdentity returns the UUID of the Galera cluster, or else the server_uuid of MySQL. MariaDB
// has no such identity: its server_uid depends on host and port, not on the data.
func mysqlIdentity(ctx context.Context, conn *sqlx.Conn) (string, error) {
	known := make(map[string]string)
	for _, query := range [...]string{
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'wsrep_on')",
		"SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'",
	} {
		rows, err := conn.QueryxContext(ctx, query)
		if err != nil {
			return "", err
		}
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return "", errors.Join(err, rows.Close())
			}
			known[name] = value
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return "", err
		}
		if on, ok := known["wsrep_on"]; !ok || !isOn(on) {
			return known["server_uuid"], nil
		}
	}
	return known["wsrep_cluster_state_uuid"], nil
}

// postgresIdentity returns the system identifier, which initdb has set, and the timeline, which
// changes with a point-in-time recovery and the promotion of a replica. It reads the timeline from
// the name of the present WAL file, since the control file is updated later. It returns "" if the
// user may not call these functions.
func postgresIdentity(ctx context.Context, conn *sqlx.Conn) (identity string, err error) {
	err = conn.QueryRowxContext(ctx, "SELECT system_identifier || ' timeline ' || "+
		"substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()").Scan(&identity)
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok && (e.SQLState() == "42501" || e.SQLState() == "42883") { // no right, no such function
		return "", nil
	}
	return identity, err
}

// look sets the identity of the data, and adds the faults of the disk of a database file.
func (d *dialect) look(ctx context.Context, conn *sqlx.Conn, status *assigner.Status) (err error) {
	if d.file != nil {
		return d.file.look(ctx, conn, status)
	}
	status.Identity, err = d.identity(ctx, conn)
	return err
}
