package sqlassigner

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A mysqlLook is the result of a look.
type mysqlLook struct {
	known       map[string]string // variables
	group       []table
	tables      []sql.NullString // the engine and the primary key of each
	replicating string
	member      sql.NullString // of Group Replication, see mysqlServer.member
	clock       string         // microseconds since 1970
	database    string
}

// judge sets the status, and notes facts about the connection in the session.
func (l mysqlLook) judge(conn *session, status *leasestore.Status) error {
	inside, isMariaDB := l.known["in_transaction"]
	if err := mysqlCommits(conn, l.known["autocommit"], inside, l.known["sql_mode"], isMariaDB); err != nil {
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
			return notDurable("table %s lacks its primary key (%s), and has (%s): two processes could have one row each; add it", t.name, t.key, key)
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
	status.Store = " database " + l.database + " at " + l.known["hostname"] + ":" + l.known["port"]
	status.Identity = cmp.Or(group, mysqlIdentity(l.known, replicates))
	clock, err := strconv.ParseInt(l.clock, 10, 64)
	status.Now = time.UnixMicro(clock).UTC()
	return err
}

// mysqlCommits notes that each statement on a connection commits, or returns an error. MariaDB also
// tells whether a transaction is open, and has a mode that cannot store the token of a free row.
func mysqlCommits(conn *session, autocommit, inside, mode string, isMariaDB bool) error {
	switch {
	case strings.Contains(mode, "EMPTY_STRING_IS_NULL"):
		return final("sqlassigner: the handle gave a connection with sql_mode=%s: leave EMPTY_STRING_IS_NULL out, in the DSN "+
			"and on the server, since the tables have empty texts", mode)
	case !isOn(autocommit):
		return notDurable("the handle gave a connection with autocommit=0 (allowed: 1): the end of the connection would take a " +
			"worker ID back; leave autocommit on, in the DSN and in each session")
	case isMariaDB && isOn(inside):
		return openTransaction()
	}
	conn.commits, conn.idle = true, conn.idle || isMariaDB
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
