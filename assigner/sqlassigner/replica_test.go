package sqlassigner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// The replica lacks the last claim of the row: without a quarantine its next holder would be
// granted the same deltas.
func TestPromotedReplicaOfMariaDBIsQuarantined(t *testing.T) {
	primary := testserver.MariaDB(t, "--server-id=11", "--log-bin", "--sync-binlog=1")
	replica := testserver.MariaDB(t, "--server-id=11", "--log-bin", "--sync-binlog=1", "--read-only")
	old, standby := openMariaDB(t, primary.DSN()), openMariaDB(t, replica.DSN())
	follow(t, standby, primary)
	if err := sqlassigner.Apply(t.Context(), old, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	a := assigner.Leased(storetest.LeaseStore(old), assigner.LeaseConfig{})
	first := storetest.Assign(t, a)
	if err := first.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var position string
	if err := old.Get(&position, "SELECT @@gtid_binlog_pos"); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, standby, fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', 30)", position), "STOP SLAVE")
	lost := storetest.Assign(t, a).Grant()
	primary.Kill9()

	b := assigner.Leased(storetest.LeaseStore(standby), assigner.LeaseConfig{})
	_, err := storetest.TryAssign(t, b, time.Second)
	if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), "read_only is on") {
		t.Errorf("Assign before the promotion: %v, want ErrStoreNotDurable", err)
	}
	storetest.Exec(t, standby, "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
	_, err = b.Assign(t.Context(), assignertest.Domain())
	held, ok := errors.AsType[*assigner.QuarantineError](err)
	if !ok || held.WorkerID != lost.WorkerID || held.Reason != `the store is another server or another copy of its file, now "server_id 12" and before "server_id 11", and may have lost commits` {
		t.Fatalf("Assign after the promotion: %v, want worker %d in quarantine, since the server is another one", err, lost.WorkerID)
	}
	if end := assignertest.Domain().Now() + int64(held.Remaining/time.Second); end <= lost.Limit {
		t.Errorf("the quarantine ends at %d, and the lost claim had deltas up to %d", end, lost.Limit)
	}
	replica.Restart("--server-id=12")
	if status, err := storetest.LeaseStore(standby).Status(t.Context()); status.Identity != "server_id 12" || err != nil {
		t.Errorf("identity %q after a restart, want the same: %v", status.Identity, err)
	}
}

// follow makes the server of db a replica. The primary refuses a replica with its own server_id, so
// server_id is an identity.
func follow(t *testing.T, db *sqlx.DB, primary *testserver.Server) {
	t.Helper()
	_, port, _ := strings.Cut(primary.Addr(), ":")
	storetest.Exec(t, db, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT="+port+", MASTER_USER='root', MASTER_USE_GTID=slave_pos",
		"START SLAVE")
	const equalIDs = 1593
	poll.Succeeds(t, "a replica refused for its server_id", func() error {
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
