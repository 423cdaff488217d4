package sqlassigner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/storecall"
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

// The clock stands still, as for two swaps within a microsecond.
func equalSwaps(t *testing.T, _ flavor, b storetest.Database) {
	_, dsn := b.Applied(t)
	s := storetest.LeaseStore(openMySQL(t, dsn+"?timestamp=1767225600"))
	row, meta := leasestore.Row{WorkerID: math.MaxInt64, Version: 1, Fence: math.MaxInt64, Token: "T"}, leasestore.Meta{Version: 1, Namespace: "N"}
	oldRow, oldMeta := leasestore.Row{}, leasestore.Meta{}
	for i := range 3 {
		ok, err := s.Swap(t.Context(), oldRow, row, 0)
		okMeta, errMeta := s.SwapMeta(t.Context(), oldMeta, meta)
		if !ok || !okMeta || err != nil || errMeta != nil {
			t.Fatalf("swap %d for its like: row %v, %v; meta row %v, %v", i, ok, err, okMeta, errMeta)
		}
		oldRow, oldMeta = row, meta
	}
}

// A claim reads as many rows of a large namespace as of a small one.
func largeNamespace(t *testing.T, f flavor, b storetest.Database) {
	const n, most = 20_000, 1_000
	for name, held := range map[string]int{"all held": 10, "half of them free": 5} {
		t.Run(name, func(t *testing.T) {
			db, _ := b.Applied(t)
			storetest.Assign(t, storetest.Leased(db)) // the meta row, and worker 0
			storetest.Exec(t, db, fmt.Sprintf("INSERT INTO WORKER_LEASE SELECT NAMESPACE, seq, 1, 1, 0, 1, IF(seq %% 10 < %d, 'T', ''), 'pid 4711', "+
				"'pid 4711', SERVER_ID, '', IF(seq %% 10 < %d, '2099-01-01', '2026-01-01'), 1 FROM WORKER_LEASE_META, (SELECT ROW_NUMBER() OVER () AS seq FROM "+
				"(SELECT 1 FROM information_schema.COLLATIONS AS a, information_schema.COLLATIONS AS b LIMIT %d) AS rows_of_any_kind) AS numbers", held, held, n),
				fmt.Sprintf("UPDATE WORKER_LEASE_META SET NEXT_WORKER_ID = %d", n+1), "ANALYZE TABLE WORKER_LEASE")
			reads := "SELECT SUM(VARIABLE_VALUE) FROM " + f.counted + " WHERE VARIABLE_NAME LIKE 'Handler_read_%'"
			for range 3 {
				before := storetest.Get[int](t, db, reads)
				w := storetest.Assign(t, storetest.Leased(db)).Grant().WorkerID
				if read := storetest.Get[int](t, db, reads) - before; read > most {
					t.Errorf("a claim in a namespace of %d rows has read %d rows, want %d at most", n, read, most)
				}
				if (w > n) != (held == 10) {
					t.Errorf("worker %d, want a new one only where all are held", w)
				}
			}
		})
	}
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

// A swap is retried only if the server has rejected it. After a shutdown or a lost connection it
// may have taken effect.
func refusedSwaps(t *testing.T, _ flavor, b storetest.Database) {
	for _, tt := range []struct {
		number   int
		params   string
		repeated int
		sentinel error
	}{
		{1213, "", 3, nil}, {1205, "", 3, nil}, {1290, "", 3, nil}, {1290, "?rejectReadOnly=false", 3, nil},
		{1053, "", 0, sqlassigner.ErrUnreachable}, {1142, "", 0, sqlassigner.ErrAccessDenied},
	} {
		t.Run(fmt.Sprint(tt.number, tt.params), func(t *testing.T) {
			db, dsn := b.Applied(t)
			var log testkit.Recorder
			store := sqlassigner.LeaseStore(openMySQL(t, dsn+tt.params), "orders", sqlassigner.Config{Logger: log.Logger()})
			row := leasestore.Row{WorkerID: 7, Version: 1, Token: "T"}
			if ok, err := store.Swap(t.Context(), leasestore.Row{}, row, time.Minute); !ok || err != nil {
				t.Fatal(ok, err)
			}
			// The server rejects the first three attempts. It counts them in a table that does not
			// take part in transactions.
			storetest.Exec(t, db, "CREATE TABLE ATTEMPT (N int) ENGINE = MyISAM", "INSERT INTO ATTEMPT VALUES (0)",
				fmt.Sprintf("CREATE TRIGGER FAILS BEFORE UPDATE ON WORKER_LEASE FOR EACH ROW BEGIN "+
					"UPDATE ATTEMPT SET N = N + 1; IF (SELECT N FROM ATTEMPT) < 4 THEN "+
					"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'passes'; END IF; END", tt.number))
			next := row
			next.Fence++
			ok, err := store.Swap(t.Context(), row, next, time.Minute)
			if got := log.Read(); ok != (tt.sentinel == nil) || !errors.Is(err, tt.sentinel) || len(got) != tt.repeated {
				t.Errorf("Swap: %v, %v after %q; want the error %v after %d attempts more", ok, err, got, tt.sentinel, tt.repeated)
			}
		})
	}
}

// A swap whose connection was lost may still be under way on the server. A read waits for its end.
func changeUnderWay(t *testing.T, f flavor, b storetest.Database) {
	for _, tt := range []struct {
		isolation, end string
		raised         int64
	}{{"REPEATABLE-READ", "COMMIT", 77}, {"READ-UNCOMMITTED", "ROLLBACK", 0}} {
		t.Run(tt.isolation+" "+tt.end, func(t *testing.T) {
			db, dsn := b.Applied(t)
			l := storetest.Assign(t, storetest.Leased(db))
			patient := storetest.LeaseStore(openMySQL(t, dsn+"?"+f.tx+"_isolation=%27"+tt.isolation+"%27"))
			other := storetest.Session(t, openMySQL(t, dsn), "BEGIN", "UPDATE WORKER_LEASE SET FENCE = FENCE + 77")
			found := make(chan leasestore.Row, 1)
			go func() {
				row, err := patient.Load(t.Context(), l.Grant().WorkerID)
				if err != nil {
					t.Errorf("Load: %v", err)
				}
				found <- row
			}()
			const waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO LIKE '%SET SWAPS = SWAPS + 1 WHERE%'"
			for storetest.Get[int](t, db, waiting) == 0 {
				if len(found) > 0 {
					t.Fatalf("row %+v, beside a change under way", <-found)
				}
			}
			storetest.Exec(t, other, tt.end)
			if row := <-found; row.Fence != l.Grant().Last+tt.raised {
				t.Errorf("fence %d beside a change under way, want %d", row.Fence, l.Grant().Last+tt.raised)
			}
		})
	}
}

// A thousand processes that want one row do not wait for its lock in turns: a swap that has lost
// returns while the row is locked.
func lostSwaps(t *testing.T, _ flavor, b storetest.Database) {
	db, dsn := b.Applied(t)
	s := storetest.LeaseStore(db)
	l := storetest.Assign(t, assigner.Leased(s, assigner.LeaseConfig{}))
	row, errRow := s.Load(t.Context(), l.Grant().WorkerID)
	meta, errMeta := s.LoadMeta(t.Context())
	testkit.Must(t, errors.Join(errRow, errMeta))
	other := storetest.Session(t, openMySQL(t, dsn), "BEGIN", "UPDATE WORKER_LEASE SET SWAPS = SWAPS + 1",
		"UPDATE WORKER_LEASE_META SET SWAPS = SWAPS + 1")
	stale, staleMeta := row, meta
	stale.Version, staleMeta.Version = 0, 0
	next, nextMeta := row, meta
	next.Token, nextMeta.Token = "another", "another"
	for name, swap := range map[string]func() (bool, error){
		"Swap":             func() (bool, error) { return s.Swap(t.Context(), stale, next, time.Minute) },
		"Swap, create":     func() (bool, error) { return s.Swap(t.Context(), leasestore.Row{}, next, time.Minute) },
		"SwapMeta":         func() (bool, error) { return s.SwapMeta(t.Context(), staleMeta, nextMeta) },
		"SwapMeta, create": func() (bool, error) { return s.SwapMeta(t.Context(), leasestore.Meta{}, nextMeta) },
	} {
		if ok, err := swap(); ok || err != nil {
			t.Errorf("%s of a row that has changed and is locked: %v, %v; want false, at once", name, ok, err)
		}
	}
	storetest.Exec(t, other, "ROLLBACK")
}

// A user without the right to see replication gets a warning on MySQL, which has that right.
func unseenReplication(t *testing.T, f flavor, b storetest.Database) {
	admin, dsn := b.Applied(t)
	storetest.Exec(t, admin, "CREATE USER blind@'127.0.0.1' IDENTIFIED BY 'hunter2'",
		"GRANT SELECT, INSERT, UPDATE ON WORKER_LEASE TO blind@'127.0.0.1'")
	_, texts := firstLooks(t, openMySQL(t, as("blind:hunter2", dsn)))
	if strings.Contains(strings.Join(texts, ""), "replication_applier_status") != (f.name == "MySQL") {
		t.Errorf("log %q without the right to see replication, want the right on MySQL", texts)
	}
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

// The replica lacks the last claim of the row: without a quarantine its next holder would be
// granted the same deltas.
func TestPromotedReplicaOfMariaDBIsQuarantined(t *testing.T) {
	primary := testserver.MariaDB(t, "--server-id=11", "--log-bin", "--sync-binlog=1")
	replica := testserver.MariaDB(t, "--server-id=12", "--log-bin", "--sync-binlog=1", "--read-only")
	old, standby := openMySQL(t, primary.DSN()), openMySQL(t, replica.DSN())
	changeMaster(t, standby, primary)
	storetest.Apply(t, old)
	a := storetest.Leased(old)
	first := storetest.Assign(t, a)
	testkit.Must(t, first.End(t.Context(), assigner.Ending{Released: true}))
	catchUp(t, standby, old)
	lost := storetest.Assign(t, a).Grant()
	primary.Kill9()

	storetest.RefusedForNow(t, standby, "beside", leasestore.ErrNotDurable, "read_only is on")
	storetest.Exec(t, standby, "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
	_, err := storetest.Leased(standby).Assign(t.Context(), assignertest.Domain())
	stores.WantError(t, err, assigner.ErrQuarantined, `the store is another server or another copy of its file, now "server_id 12 after `+
		position(t, standby, "slave")+`", and may have lost commits`)
	if meta, err := storetest.LeaseStore(standby).LoadMeta(t.Context()); meta.Quarantine <= lost.Last {
		t.Errorf("claims begin above %d, and the lost claim had deltas up to %d: %v", meta.Quarantine, lost.Last, err)
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
	stores.WantError(t, err, assigner.ErrQuarantined, fmt.Sprintf("now %q", "server_id 11 after "+position(t, old, "slave")))
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

// A replica of MySQL has a server_uuid of its own. Where it is semi-synchronous it has each claim
// that the primary has granted, so the holder goes on and leaves its worker ID ready. An
// asynchronous one may lack the last claim.
func TestPromotedReplicaOfMySQLIsQuarantined(t *testing.T) {
	for _, tt := range []struct {
		name            string
		lost            bool // the last claim
		source, replica []string
	}{
		{"asynchronous", true, nil, nil},
		{"semi-synchronous", false, []string{"--plugin-load-add=semisync_source.so", "--rpl-semi-sync-source-enabled=ON", "--rpl-semi-sync-source-timeout=600000"},
			[]string{"--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gtids := []string{"--gtid-mode=ON", "--enforce-gtid-consistency", "--server-id"}
			primary := testserver.MySQL(t, slices.Concat(gtids, []string{"11"}, tt.source)...)
			replica := testserver.MySQL(t, slices.Concat(gtids, []string{"12", "--read-only"}, tt.replica)...)
			at := 0
			old, standby := openMovable(t, &at, primary, replica), openMySQL(t, replica.DSN())
			_, port, _ := strings.Cut(primary.Addr(), ":")
			storetest.Exec(t, standby, "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT="+port+", SOURCE_USER='root', "+
				"SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1", "START REPLICA")
			storetest.Apply(t, old)
			a := storetest.Leased(old)
			testkit.Must(t, storetest.Assign(t, a).End(t.Context(), assigner.Ending{Released: true}))
			storetest.Exec(t, standby, "DO WAIT_FOR_EXECUTED_GTID_SET('"+storetest.Get[string](t, old, "SELECT @@GLOBAL.gtid_executed")+"', 30)")
			if tt.lost {
				storetest.Exec(t, standby, "STOP REPLICA IO_THREAD")
			}
			l := storetest.Assign(t, a)
			primary.Kill9()

			storetest.RefusedForNow(t, standby, "beside", leasestore.ErrNotDurable, "read_only is on")
			storetest.Exec(t, standby, "SET GLOBAL read_only = OFF")
			for _, a := range []assigner.Assigner{storetest.Leased(standby), storetest.Disposable(standby)} {
				storetest.Refused(t, a, leasestore.ErrNotDurable, "running replication threads", "STOP REPLICA")
			}
			const received = "SELECT RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status"
			storetest.Exec(t, standby, "DO WAIT_FOR_EXECUTED_GTID_SET('"+storetest.Get[string](t, standby, received)+"', 30)", "STOP REPLICA")
			at = 1
			row, err := storetest.LeaseStore(standby).Load(t.Context(), l.Grant().WorkerID)
			if lost := row.Fence < l.Grant().Last; lost != tt.lost || err != nil {
				t.Errorf("fence %d after a claim up to %d, %v; want the claim lost: %v", row.Fence, l.Grant().Last, err, tt.lost)
			}
			identity := storetest.Get[string](t, standby, "SELECT @@server_uuid")
			_, err = a.Assign(t.Context(), assignertest.Domain())
			stores.WantError(t, err, assigner.ErrQuarantined, fmt.Sprintf("now %q", identity), "and may have lost commits")
			if meta, err := storetest.LeaseStore(standby).LoadMeta(t.Context()); meta.Quarantine <= l.Grant().Last {
				t.Errorf("claims begin above %d, and the last claim had deltas up to %d: %v", meta.Quarantine, l.Grant().Last, err)
			}
			used := l.Grant().First
			if err = stores.Extend(t.Context(), l, used, used+1); tt.lost {
				stores.WantError(t, err, assigner.ErrWorkerRowLost)
				return
			}
			testkit.Must(t, errors.Join(err, l.End(t.Context(), assigner.Ending{Released: true, Used: used})))
			if g := storetest.Assign(t, a).Grant(); g.WorkerID != l.Grant().WorkerID || g.First <= used {
				t.Errorf("grant %+v after worker %d has used the deltas up to %d, want the rest at once", g, l.Grant().WorkerID, used)
			}
		})
	}
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

// openMovable returns a handle each of whose calls connects to the server that at tells.
func openMovable(t *testing.T, at *int, servers ...*testserver.Server) *sqlx.DB {
	t.Helper()
	cfg, err := sqlassigner.ParseMySQL("root@tcp(behind:3306)/uidring")
	testkit.Must(t, err)
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, servers[*at].Addr())
	}
	db, err := sqlassigner.OpenMySQLConfig(cfg)
	storetest.Opened(t, db, err).SetMaxIdleConns(-1)
	return db
}

// The servers have different variables.
func TestStatusOfAnotherServerBehindTheAddress(t *testing.T) {
	at, mariaDB := 0, testserver.MariaDB(t)
	s := storetest.LeaseStore(openMovable(t, &at, testserver.MySQL(t), mariaDB))
	storetest.Exec(t, openMySQL(t, mariaDB.DSN()), "CREATE TABLE WORKER_LEASE (NAMESPACE INT, WORKER_ID INT, PRIMARY KEY (NAMESPACE, WORKER_ID)) ENGINE=MyISAM")
	ctx, end := storecall.Operation(t.Context())
	defer end()
	for at = range 2 {
		status, err := s.Status(ctx)
		storecall.Pause(ctx)
		if mariaDB := strings.HasPrefix(status.Identity, "server_id"); err != nil || len(status.Faults) != at || mariaDB != (at == 1) {
			t.Errorf("status %+v, %v of server %d", status, err, at)
		}
	}
}

func TestAStartWaitsForNoLockedRow(t *testing.T) {
	onBoth(t, func(t *testing.T, f flavor) { storetest.LockedRow(t, f.database(t)) })
}
