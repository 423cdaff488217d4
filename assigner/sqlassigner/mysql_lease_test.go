package sqlassigner_test

import (
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Settings of a handle or a server must make no difference: counting matched instead of changed
// rows, prepared statements, times as text or in another zone, any isolation level, a mode that
// truncates long texts. Successive handles differ.
func TestLeases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f flavor) {
		t.Parallel()
		b := f.database(t, "--sql-mode=", "--character-set-server=latin1")
		settings := [...]string{
			"",
			"?tx_isolation=%27SERIALIZABLE%27&clientFoundRows=true&interpolateParams=false&parseTime=false&time_zone=%27-11:00%27",
			"?tx_isolation=%27READ-UNCOMMITTED%27&loc=Asia%2FShanghai&time_zone=%27%2B08:00%27",
		}
		var opened atomic.Int64
		b.Open = func(t *testing.T, dsn string) *sqlx.DB {
			setting := settings[opened.Add(1)%int64(len(settings))]
			return openMySQL(t, dsn+strings.Replace(setting, "tx", f.tx, 1))
		}
		storetest.RunLeases(t, b)
	})
}

func TestFaultsOfLeases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f flavor) {
		t.Parallel()
		b := f.database(t)
		storetest.LeasesWithstandFaults(t, b)
		prepared := b
		prepared.Kills = false
		prepared.Open = func(t *testing.T, dsn string) *sqlx.DB { return openMySQL(t, dsn+"?interpolateParams=false") }
		t.Run("prepared statements", func(t *testing.T) { storetest.LeasesWithstandFaults(t, prepared) })
	})
}

// firstLooks returns the identity and the warnings of a process whose first looks at the server are
// several at once. It checks that none fails, and that there is one warning at most.
func firstLooks(t *testing.T, db *sqlx.DB) (identity string, texts []string) {
	t.Helper()
	for range 5 { // the first process waits for its connections
		var log testkit.Recorder
		store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{Logger: log.TextLogger()})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := store.Status(t.Context()); err != nil {
					t.Errorf("a first look beside others: %v", err)
				}
			})
		}
		wg.Wait()
		if texts = log.Read(); len(texts) > 1 {
			t.Errorf("log %q, want one warning at most", texts)
		}
	}
	return storetest.Identity(t, db), texts
}

func TestSegments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f flavor) {
		t.Parallel()
		storetest.RunSegments(t, f.database(t))
	})
}

// The server counts the statements. docs/TUNING.md has the figures.
func TestStatementsOfALease(t *testing.T) {
	onBoth(t, func(t *testing.T, f flavor) {
		dsn := f.start(t).DSN()
		admin := openMySQL(t, dsn)
		storetest.Apply(t, admin)
		questions := 0
		// The driver may rename the columns of results.
		storetest.Statements(t, openMySQL(t, dsn), openMySQL(t, dsn+"?columnsWithAlias=true"), func() (asked int) {
			questions++ // this one is not of the lease
			testkit.Must(t, admin.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(new(string), &asked))
			return asked - questions
		})
	})
}

// The servers have different variables.
func TestStatusOfAnotherServerBehindTheAddress(t *testing.T) {
	mySQL, mariaDB := testserver.MySQL(t), testserver.MariaDB(t)
	proxy := faultconn.Start(t, mySQL.Addr())
	s := storetest.LeaseStore(openMySQL(t, strings.Replace(mySQL.DSN(), mySQL.Addr(), proxy.Addr(), 1)))
	storetest.Exec(t, openMySQL(t, mariaDB.DSN()), "CREATE TABLE WORKER_LEASE (NAMESPACE INT, WORKER_ID INT, PRIMARY KEY (NAMESPACE, WORKER_ID)) ENGINE=MyISAM")
	ctx, end := storecall.Operation(t.Context())
	defer end()
	for at, server := range []*testserver.Server{mySQL, mariaDB, mySQL, mariaDB} {
		at %= 2
		proxy.Lead(server.Addr())
		status, err := s.Status(ctx)
		storecall.Pause(ctx)
		if mariaDB := strings.HasPrefix(status.Identity, "server_id"); err != nil || len(status.Faults) != at || mariaDB != (at == 1) {
			t.Errorf("status %+v, %v of server %d", status, err, at)
		}
		_, port, _ := net.SplitHostPort(server.Addr())
		if !regexp.MustCompile("^MySQL database \\w+ at [^:]+:" + port + "$").MatchString(status.Store) {
			t.Errorf("Store %q, want the database and port %s", status.Store, port)
		}
	}
}

// The user gets the right to see replication, and the server the plugin of Group Replication, while
// the process runs.
func TestChangedRightsAndPluginsAreNoticed(t *testing.T) {
	dsn, peer := testserver.MySQL(t, "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=7", "--report-host=127.0.0.1").DSN(), testserver.FreeAddr(t)
	admin := openMySQL(t, dsn)
	storetest.Apply(t, admin)
	storetest.Exec(t, admin, "CREATE USER ids@'%' IDENTIFIED BY 'hunter2'", "GRANT SELECT ON * TO ids@'%'")
	s := storetest.LeaseStore(openMySQL(t, strings.Replace(dsn, "root@", "ids:hunter2@", 1)))
	faults := func(want string) {
		t.Helper()
		if got := strings.Join(stores.Status(t, s).Faults, ", "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("faults %q, want %q", got, want)
		}
	}
	faults("")
	storetest.Exec(t, admin, "GRANT SELECT ON performance_schema.* TO ids@'%'", "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='ids'", "START REPLICA SQL_THREAD")
	faults("")
	defer func(before time.Duration) { *sqlassigner.FactFor = before }(*sqlassigner.FactFor)
	*sqlassigner.FactFor = 0
	faults("running replication threads")
	storetest.Exec(t, admin, "STOP REPLICA", "RESET REPLICA ALL", "INSTALL PLUGIN group_replication SONAME 'group_replication.so'",
		"SET GLOBAL group_replication_group_name='aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'", "SET GLOBAL group_replication_local_address='"+peer+"'", "SET GLOBAL group_replication_group_seeds='"+peer+"'",
		"SET GLOBAL group_replication_single_primary_mode=OFF", "SET GLOBAL group_replication_bootstrap_group=ON", "START GROUP_REPLICATION")
	faults("group_replication_single_primary_mode=OFF")
}
