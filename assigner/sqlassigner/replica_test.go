package sqlassigner_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The replica lacks the last claim of the row: without a quarantine its next holder would be
// granted the same deltas.
func TestPromotedReplicaOfMariaDBIsQuarantined(t *testing.T) {
	primary := testserver.MariaDB(t, "--server-id=11", "--log-bin", "--sync-binlog=1")
	replica := testserver.MariaDB(t, "--server-id=11", "--log-bin", "--sync-binlog=1", "--read-only")
	old, standby := openMariaDB(t, primary.DSN()), openMariaDB(t, replica.DSN())
	follow(t, standby, primary)
	storetest.Apply(t, old)
	a := storetest.Leased(old)
	first := storetest.Assign(t, a)
	if err := first.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	catchUp(t, standby, old)
	lost := storetest.Assign(t, a).Grant()
	primary.Kill9()

	storetest.RefusedForNow(t, storetest.Kinds(standby)["Leased"], leasestore.ErrNotDurable, "read_only is on")
	storetest.Exec(t, standby, "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
	_, err := storetest.Leased(standby).Assign(t.Context(), assignertest.Domain())
	storetest.WantError(t, err, assigner.ErrQuarantined, fmt.Sprintf("worker %d for ", lost.WorkerID), `the store is another server or another copy of its file, now "server_id 12 after `+
		position(t, standby, "slave")+`" and before "server_id 11", and may have lost commits`)
	remaining := err.(interface{ RetryAfter() time.Duration }).RetryAfter()
	if end := assignertest.Domain().Now() + int64(remaining/time.Second); end <= lost.Limit {
		t.Errorf("the quarantine ends at %d, and the lost claim had deltas up to %d", end, lost.Limit)
	}
	before := storetest.Identity(t, standby)
	replica.Restart("--server-id=12", "--log-bin")
	if after := storetest.Identity(t, standby); after != before {
		t.Errorf("identity %q after a restart, was %q", after, before)
	}

	// A server that is promoted again may lack commits of its successor.
	primary.Restart()
	changeMaster(t, old, replica)
	writableReplicaIsRefused(t, old)
	catchUp(t, old, standby)
	_, err = storetest.Leased(old).Assign(t.Context(), assignertest.Domain())
	storetest.WantError(t, err, assigner.ErrQuarantined, fmt.Sprintf("now %q", "server_id 11 after "+position(t, old, "slave")))
	storetest.Exec(t, old, "SET GLOBAL gtid_slave_pos = (SELECT GROUP_CONCAT(seq, '-1-1') FROM seq_1_to_50)")
	if id := storetest.Identity(t, old); !regexp.MustCompile("^server_id 11 after [0-9a-f]{64}$").MatchString(id) {
		t.Errorf("identity %q with a long position, want a text that fits the column", id)
	}
}

// A server was promoted while it replicates, or belongs to a ring of primaries: the other server
// may overwrite its changes.
func writableReplicaIsRefused(t *testing.T, db *sqlx.DB) {
	t.Helper()
	for _, a := range []assigner.Assigner{storetest.Leased(db), storetest.Disposable(db)} {
		storetest.Refused(t, a, leasestore.ErrNotDurable, "running replication threads (Slaves_running=1; allowed: 0", "STOP SLAVE")
	}
	// AllowUndurable accepts a ring. The position moves, and is no part of the identity.
	if id := storetest.Identity(t, db); id != "server_id 11" {
		t.Errorf("identity %q of a server that replicates, want its server_id alone", id)
	}
}

// position returns the last transaction of a server's binary log, or the last that it received.
func position(t *testing.T, db *sqlx.DB, of string) (gtid string) {
	t.Helper()
	return storetest.Get[string](t, db, "SELECT @@gtid_"+of+"_pos")
}

// catchUp ends replication when the replica has all that the primary has written.
func catchUp(t *testing.T, replica, primary *sqlx.DB) {
	t.Helper()
	storetest.Exec(t, replica, fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', 30)", position(t, primary, "binlog")), "STOP SLAVE")
}

func changeMaster(t *testing.T, db *sqlx.DB, primary *testserver.Server) {
	t.Helper()
	_, port, _ := strings.Cut(primary.Addr(), ":")
	storetest.Exec(t, db, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT="+port+", MASTER_USER='root', MASTER_USE_GTID=slave_pos",
		"START SLAVE")
}

// follow makes the server of db a replica. The primary refuses a replica with its own server_id, so
// server_id is an identity.
func follow(t *testing.T, db *sqlx.DB, primary *testserver.Server) {
	t.Helper()
	changeMaster(t, db, primary)
	const equalIDs = 1593
	testkit.Succeeds(t, "a replica refused for its server_id", func() error {
		state := make(map[string]any)
		if err := db.QueryRowx("SHOW SLAVE STATUS").MapScan(state); err != nil {
			return err
		}
		if state["Last_IO_Errno"] != int64(equalIDs) {
			return fmt.Errorf("state %v, want error %d", state, equalIDs)
		}
		return nil
	})
	storetest.Exec(t, db, "STOP SLAVE", "SET GLOBAL server_id = 12", "START SLAVE")
}
