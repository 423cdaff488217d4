package sqlassigner_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/recorder"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

func TestMain(m *testing.M) {
	storetest.Child(sqlassigner.OpenMySQL)
	storetest.SegmentChild(sqlassigner.OpenMySQL)
	os.Exit(m.Run())
}

// openMariaDB opens a handle that ends with the test.
func openMariaDB(t *testing.T, dsn string) *sqlx.DB {
	t.Helper()
	db, err := sqlassigner.OpenMySQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// mariaDB is a backend whose databases lie on one server.
func mariaDB(s *testserver.Server) storetest.Database {
	var databases atomic.Int64
	b := storetest.Database{
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			name := fmt.Sprintf("test%d", databases.Add(1))
			storetest.Exec(t, openMariaDB(t, s.DSN()), "CREATE DATABASE "+name)
			dsn := strings.Replace(s.DSN(), "/uidring", "/"+name, 1)
			return openMariaDB(t, dsn), dsn
		},
		All:   true,
		Hides: true,
		Open:  openMariaDB,
		Down: func(*testing.T, string) (up func()) {
			s.Kill9()
			return func() { s.Restart() }
		},
		Inside: func(t *testing.T, dsn string) *sqlx.DB {
			db := openMariaDB(t, dsn)
			db.SetMaxOpenConns(1)
			storetest.Exec(t, db, "START TRANSACTION")
			return db
		},
		Block: func(t *testing.T, dsn, table string) (unblock func()) {
			db := openMariaDB(t, dsn)
			db.SetMaxOpenConns(1)
			storetest.Exec(t, db, "LOCK TABLES "+table+" READ")
			return func() { storetest.Exec(t, db, "UNLOCK TABLES") }
		},
		Blocked: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%lock'",
	}
	if s != nil {
		b.Addr = s.Addr()
		b.Kill = func(*testing.T) {
			s.Kill9()
			s.Restart()
		}
	}
	return b
}

func TestMariaDB(t *testing.T) { storetest.Run(t, mariaDB(testserver.MariaDB(t))) }

func TestUndurableMariaDBIsRefusedOrWarnedAbout(t *testing.T) {
	s := testserver.MariaDB(t)
	db, _ := mariaDB(s).Applied(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--innodb-flush-log-at-trx-commit=2"}, []string{"innodb_flush_log_at_trx_commit=2 (allowed: 1)"}},
		{[]string{"--log-bin", "--sync-binlog=100"}, []string{"sync_binlog=100 with log_bin on (allowed: 1)"}},
		{[]string{"--log-bin", "--innodb-flush-log-at-trx-commit=0"},
			[]string{"innodb_flush_log_at_trx_commit=0 (allowed: 1)", "sync_binlog=0 with log_bin on (allowed: 1)"}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			s.Restart(tt.args...)
			storetest.CheckUndurable(t, db, tt.want...)
		})
	}
}

// The nodes of a cluster have different values of server_id, so there is no identity.
func TestGaleraIsRefusedOrWarnedAbout(t *testing.T) {
	db, _ := mariaDB(testserver.MariaDB(t, "--wsrep-on=ON")).Applied(t)
	storetest.CheckUndurable(t, db, "wsrep_on=ON (allowed: OFF; Galera has lost acknowledged writes in tests: accept the risk only "+
		"if that may repeat IDs)")
	if id := storetest.Identity(t, db); id != "" {
		t.Errorf("identity %q, want none", id)
	}
}

func TestMariaDBWithoutAFreeConnectionNamesTheLimit(t *testing.T) {
	s := testserver.MariaDB(t, "--max-connections=10")
	storetest.NoConnectionLeft(t, mariaDB(s))
}

// With a setting that the check refuses, a crash makes the server hand out a number twice: the
// check is not there for show.
func TestUndurableMariaDBHandsANumberOutTwice(t *testing.T) {
	s := testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-timeout=2700") // and not in between
	db, _ := mariaDB(s).Applied(t)
	a := sqlassigner.Disposable(db, sqlassigner.Config{AllowUndurable: true})
	seen := make(map[int64]bool)
	for range 10 {
		l := storetest.Assign(t, a)
		if seen[l.Grant().WorkerID] {
			return
		}
		for seen[l.Grant().WorkerID] = true; len(seen)%10 != 0; seen[l.Grant().WorkerID] = true {
			l = storetest.Assign(t, a)
		}
		s.Kill9()
		s.Restart()
	}
	t.Error("ten crashes lost no commit")
}

func TestReadOnlyMariaDBIsRefusedUntilItTakesWrites(t *testing.T) {
	s := testserver.MariaDB(t)
	db, dsn := mariaDB(s).Applied(t)
	l := storetest.Assign(t, storetest.Disposable(db))
	refused := func(db *sqlx.DB, variable string) {
		t.Helper()
		undurable := assigner.LeaseConfig{FirstWorkerID: 1000, AllowUndurable: true}
		for _, a := range []assigner.Assigner{
			storetest.Disposable(db), sqlassigner.Disposable(db, sqlassigner.Config{AllowUndurable: true}),
			storetest.Beside(db), assigner.Leased(storetest.LeaseStore(db), undurable),
		} {
			_, err := storetest.TryAssign(t, a, 300*time.Millisecond)
			storetest.WantError(t, err, assigner.ErrStoreNotDurable, "("+variable+" is on)")
		}
	}
	refused(openMariaDB(t, dsn+"?tx_read_only=1"), "transaction_read_only")
	storetest.Exec(t, db, "SET GLOBAL read_only = ON")
	refused(db, "read_only")
	storetest.Renew(t, l)
	storetest.Exec(t, db, "SET GLOBAL read_only = OFF")
	storetest.ComesBack(t, db, func() { storetest.Exec(t, db, "SET GLOBAL read_only = ON") },
		func() { storetest.Exec(t, db, "SET GLOBAL read_only = OFF") })
}

// failThrice has the server reject the first three statements of a kind, with the given error. It
// counts them in a table that does not take part in transactions.
func failThrice(t *testing.T, db *sqlx.DB, statement string, number int) {
	t.Helper()
	storetest.Exec(t, db, "CREATE TABLE ATTEMPT (N int) ENGINE = MyISAM", "INSERT INTO ATTEMPT VALUES (0)",
		fmt.Sprintf("CREATE TRIGGER FAILS BEFORE %s FOR EACH ROW BEGIN "+
			"UPDATE ATTEMPT SET N = N + 1; IF (SELECT N FROM ATTEMPT) < 4 THEN "+
			"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'passes'; END IF; END", statement, number))
}

func TestMariaDBDeniesAccessWithoutThePassword(t *testing.T) {
	s := testserver.MariaDB(t)
	db, _ := mariaDB(s).Applied(t)
	storetest.Exec(t, db, "CREATE USER ids@'127.0.0.1' IDENTIFIED BY 'hunter2'",
		"CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'hunter2'", "GRANT SELECT ON test1.* TO reader@'127.0.0.1'")
	at := "@tcp(" + s.Addr() + ")"
	storetest.Denied(t, openMariaDB, []storetest.Denial{
		{DSN: "ids:hunter2x" + at + "/test1", Is: sqlassigner.ErrAccessDenied, Says: "check user and password"},
		{DSN: "nobody:hunter2" + at + "/test1", Is: sqlassigner.ErrAccessDenied, Says: "check user and password"},
		{DSN: "ids:hunter2" + at + "/test1", Is: sqlassigner.ErrAccessDenied, Says: "test1"},
		{DSN: "reader:hunter2" + at + "/test1", Is: sqlassigner.ErrAccessDenied, Says: "INSERT command denied"},
		{DSN: "root" + at + "/absent", Is: sqlassigner.ErrTableMissing, Says: "create the database"},
		{DSN: "ids:hunter2@tcp(127.0.0.1:1)/ids", Is: sqlassigner.ErrUnreachable, Says: "tries): dial tcp 127.0.0.1:1: connect: connection refused"},
	})
}

// Apply needs the right to create tables only if a table is missing.
func TestApplyOnMariaDBNeedsFewRights(t *testing.T) {
	s := testserver.MariaDB(t)
	admin, _ := mariaDB(s).Applied(t)
	storetest.Exec(t, admin, "CREATE USER ids@'127.0.0.1' IDENTIFIED BY 'hunter2'",
		"GRANT SELECT, INSERT, UPDATE ON test1.* TO ids@'127.0.0.1'")
	db := openMariaDB(t, "ids:hunter2@tcp("+s.Addr()+")/test1")
	storetest.Apply(t, db)
	storetest.Exec(t, admin, "DROP TABLE WORKER_STICKY")
	storetest.WantError(t, sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}), sqlassigner.ErrAccessDenied, "CREATE for Apply if one is missing")
}

// A mute connection reads, but every write fails: it was cut after the greeting of the server.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestConnectionLostAtLoginIsTriedAgain(t *testing.T) {
	_, dsn := mariaDB(testserver.MariaDB(t)).Applied(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dials.Add(1) > 3 || err != nil {
			return conn, err
		}
		return mute{conn}, nil
	}
	db, err := sqlassigner.OpenMySQLConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var log recorder.Recorder
	storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.Logger()}))
	if got := log.Read(); len(got) != 3 {
		t.Errorf("%d attempts were repeated, want 3: %q", len(got), got)
	}
}

func TestMariaDBTimesAreRightInEveryTimeZone(t *testing.T) {
	s := testserver.MariaDB(t)
	_, dsn := mariaDB(s).Applied(t)
	for _, zone := range []string{"%2B08:00", "-11:00"} {
		db := openMariaDB(t, dsn+"?time_zone=%27"+zone+"%27")
		l := storetest.Assign(t, storetest.Disposable(db))
		var off []int64
		err := db.Select(&off, "SELECT ABS(UNIX_TIMESTAMP() - UNIX_TIMESTAMP(CREATED)) FROM WORKER_NODE WHERE ID = ? "+
			"UNION ALL SELECT ABS(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), CREATED)) FROM WORKER_NODE_TOKEN WHERE ID = ? "+
			"UNION ALL SELECT ABS(DATEDIFF(LAUNCH_DATE, DATE(CONVERT_TZ(CREATED, @@time_zone, '+00:00')))) FROM WORKER_NODE WHERE ID = ?",
			l.Grant().WorkerID, l.Grant().WorkerID, l.Grant().WorkerID)
		if err != nil {
			t.Fatal(err)
		}
		if len(off) != 3 || off[0] > 60 || off[1] > 60 || off[2] > 1 {
			t.Errorf("in zone %s CREATED of WORKER_NODE, CREATED of its token and LAUNCH_DATE are off by %v s, s, days", zone, off)
		}
	}
}

// The client runs a file as a whole, comments included. Java services know these columns, no more
// and no less.
func TestMySQLFilesRunAsTheyAreAndKeepTheOriginalsColumns(t *testing.T) {
	db, dsn := mariaDB(testserver.MariaDB(t)).Empty(t)
	whole := openMariaDB(t, dsn+"?multiStatements=true")
	for range 2 {
		for _, f := range schema.MySQL() {
			storetest.Exec(t, whole, f.SQL)
		}
	}
	storetest.Assign(t, storetest.Disposable(db))
	var got []string
	err := db.Select(&got, "SELECT CONCAT_WS(' ', COLUMN_NAME, REPLACE(REPLACE(COLUMN_TYPE, '(20)', ''), '(11)', ''), "+
		"IS_NULLABLE, EXTRA) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'WORKER_NODE' "+
		"ORDER BY ORDINAL_POSITION")
	want := []string{"ID bigint NO auto_increment", "HOST_NAME varchar(64) NO ", "PORT varchar(64) NO ", "TYPE int NO ",
		"LAUNCH_DATE date NO ", "MODIFIED timestamp NO ", "CREATED timestamp NO "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q: %v", got, want, err)
	}
	if engine := storetest.Get[string](t, db, "SELECT GROUP_CONCAT(DISTINCT ENGINE) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"); engine != "InnoDB" {
		t.Errorf("engines %q, want InnoDB", engine)
	}
}
