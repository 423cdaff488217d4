package sql_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestLeasesOnSQLite(t *testing.T) {
	t.Parallel()
	storetest.RunLeases(t, sqlite())
}

func TestLeasesOnSQLiteWithWriteAheadLog(t *testing.T) {
	t.Parallel()
	storetest.Driver(t, writeAhead())
	t.Run("Processes", func(t *testing.T) { storetest.LeaseProcesses(t, writeAhead()) })
}

// Every other handle is serializable: there a swap that comes late fails, in place of finding the
// row changed.
func TestLeasesOnPostgreSQL(t *testing.T) {
	t.Parallel()
	b := postgres(testserver.PostgreSQL(t))
	var opened atomic.Int64
	b.Open = func(t *testing.T, dsn string) *sqlx.DB {
		if opened.Add(1)%2 == 0 {
			dsn += "&default_transaction_isolation=serializable"
		}
		return open(t, dsn)
	}
	storetest.RunLeases(t, b)
}

func swapWaits(t *testing.T, b storetest.Database) {
	db, dsn := b.Applied(t)
	var tx *sqlx.Tx
	storetest.SwapWaits(t, open(t, dsn+"&lock_timeout=20"), func() {
		tx = db.MustBegin()
		tx.MustExec("SELECT 1 FROM WORKER_LEASE FOR UPDATE")
	}, func() {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
}

// A swap is tried again only where the server has refused it. After a shutdown, and on a connection
// that is gone, it may have taken effect.
func swapTriedAgain(t *testing.T, b storetest.Database) {
	for _, tt := range []struct {
		state    string
		repeated int
		sentinel error
	}{
		{"40001", 3, nil}, {"25006", 3, nil},
		{"08006", 0, sqlassigner.ErrUnreachable}, {"42501", 0, sqlassigner.ErrAccessDenied},
	} {
		t.Run(tt.state, func(t *testing.T) {
			db, _ := b.Applied(t)
			storetest.SwapFails(t, db, func() {
				failThrice(t, db, "UPDATE ON WORKER_LEASE", tt.state)
			}, tt.repeated, tt.sentinel)
		})
	}
}

func TestPostgreSQLIsKnownByItsDataAndTimeline(t *testing.T) {
	s := testserver.PostgreSQL(t)
	db, dsn := postgres(s).Applied(t)
	first := storetest.Identity(t, db)
	if !regexp.MustCompile(`^[0-9]{10,20} timeline 00000001$`).MatchString(first) {
		t.Errorf("identity %q, want the system identifier and timeline 00000001", first)
	}
	storetest.Exec(t, db, "CREATE USER ids", "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ids")
	plain := open(t, strings.Replace(dsn, "postgres@", "ids@", 1))
	if got := storetest.Identity(t, plain); got != first {
		t.Errorf("identity %q for a user with few rights, want %q", got, first)
	}
	storetest.Exec(t, db, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	if got := storetest.Identity(t, plain); got != "" {
		t.Errorf("identity %q for a user who may not read it, want none", got)
	}
	storetest.Assign(t, assigner.Leased(storetest.LeaseStore(plain), assigner.LeaseConfig{}))

	var folder string
	if err := db.Get(&folder, "SELECT current_setting('data_directory')"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := os.WriteFile(filepath.Join(folder, "recovery.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Restart("-c", "restore_command=false") // the archive has nothing: recovery ends where the log does
	if got, want := storetest.Identity(t, db), strings.Replace(first, "00000001", "00000002", 1); got != want {
		t.Errorf("identity %q after a restore, want %q", got, want)
	}
}

// A user with rights on the lease tables alone cannot know whether WORKER_NODE gives out the same
// worker IDs. Where there is no such table, there is nothing to know.
func TestLeasesOnPostgreSQLNeedToSeeTheNodes(t *testing.T) {
	admin, dsn := postgres(testserver.PostgreSQL(t)).Applied(t)
	storetest.Exec(t, admin, "CREATE USER ids", "GRANT SELECT, INSERT, UPDATE ON WORKER_LEASE, WORKER_LEASE_META TO ids")
	a := assigner.Leased(storetest.LeaseStore(open(t, strings.Replace(dsn, "postgres@", "ids@", 1))), assigner.LeaseConfig{})
	_, err := storetest.TryAssign(t, a, time.Minute)
	if !errors.Is(err, sqlassigner.ErrAccessDenied) || !strings.Contains(err.Error(), "cannot see whether worker_node gives out the same worker IDs") {
		t.Errorf("Assign without the right to look at WORKER_NODE: %v, want ErrAccessDenied that says so", err)
	}
	storetest.Exec(t, admin, "DROP TABLE WORKER_NODE")
	storetest.Assign(t, a)
	storetest.Exec(t, admin, "CREATE TABLE WORKER_NODE (ID bigint)", "GRANT SELECT ON WORKER_NODE TO ids")
	storetest.Assign(t, a)
}
