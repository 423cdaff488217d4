package sqlassigner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
		if status, err = l.store.status(ctx, conn, l.store.tables.names(leaseTables())); err != nil {
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

// status returns the identity of the server or file, and all faults.
func (s *store) status(ctx context.Context, conn *sqlx.Conn, names []string) (status assigner.Status, err error) {
	err = s.dialect.status(ctx, conn, names, &status)
	if err == nil && s.dialect.file != nil {
		err = s.dialect.file.look(ctx, conn, &status)
	}
	return status, err
}

// mysqlIdentity sets the UUID of the Galera cluster, the server_uuid of MySQL, or the server_id of
// MariaDB with the position up to which it has followed others. The server_uid of MariaDB follows
// host and port, so a restart in another container would change it.
func mysqlIdentity(ctx context.Context, conn *sqlx.Conn, status *assigner.Status) error {
	known, err := mysqlVariables(ctx, conn, "SHOW SESSION VARIABLES WHERE Variable_name IN ('server_id', 'server_uuid', "+
		"'gtid_slave_pos', 'wsrep_on', 'wsrep_sync_wait', 'tx_read_only', 'transaction_read_only')")
	if err != nil {
		return err
	}
	if isOn(cmp.Or(known["tx_read_only"], known["transaction_read_only"], "OFF")) {
		return fmt.Errorf("%w (transaction_read_only is on)", errReadOnly)
	}
	if on, ok := known["wsrep_on"]; !ok || !isOn(on) {
		status.Identity = known["server_uuid"]
		if status.Identity == "" {
			status.Identity, err = mariaDBIdentity(ctx, conn, known["server_id"], known["gtid_slave_pos"])
		}
		return err
	}
	// A node that lags would return a row from before an acknowledged write to another node.
	if wait, _ := strconv.Atoi(known["wsrep_sync_wait"]); wait&needSync != needSync {
		status.Faults = append(status.Faults, fmt.Sprintf("wsrep_sync_wait=%d (allowed: 7, 15; add wsrep_sync_wait=15 to the DSN)", wait))
	}
	known, err = mysqlVariables(ctx, conn, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
	status.Identity = known["wsrep_cluster_state_uuid"]
	if err == nil && strings.Trim(status.Identity, "0-") == "" {
		status.Faults = append(status.Faults, fmt.Sprintf("wsrep_on=ON and wsrep_cluster_state_uuid=%q (allowed: the UUID of a cluster; "+
			"the node has joined none: correct wsrep_provider and wsrep_cluster_address)", status.Identity))
	}
	return err
}

// mariaDBIdentity returns an identity that changes with a promotion, not with a restore. Servers
// that replicate from each other need different values of server_id. The position distinguishes the
// times at which a server is primary: when it is promoted again, it has followed another one
// meanwhile. While a server still replicates, its position moves, and does not count.
func mariaDBIdentity(ctx context.Context, conn *sqlx.Conn, serverID, followed string) (string, error) {
	identity := "server_id " + serverID
	if followed == "" {
		return identity, nil
	}
	known, err := mysqlVariables(ctx, conn, "SHOW GLOBAL STATUS LIKE 'Slaves_running'")
	if err != nil || known["Slaves_running"] != "0" {
		return identity, err
	}
	const most = 64
	if len(followed) > most { // it has a part for each domain
		followed = fmt.Sprintf("%x", sha256.Sum256([]byte(followed)))
	}
	return identity + " after " + followed, nil
}

// needSync are the bits of wsrep_sync_wait for SELECT, for UPDATE and for INSERT.
const needSync = 1 | 2 | 4

// mysqlVariables returns the results of a SHOW statement by name.
func mysqlVariables(ctx context.Context, conn *sqlx.Conn, show string) (map[string]string, error) {
	rows, err := conn.QueryxContext(ctx, show)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		known[name] = value
	}
	return known, rows.Err()
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
