package sqlassigner_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestMain(m *testing.M) {
	storetest.Child(sqlassigner.OpenMySQL)
	os.Exit(m.Run())
}

// A flavor is a server with the dialect of MySQL.
type flavor struct {
	name  string
	start func(t testing.TB, args ...string) *testserver.Server
	tx    string // begins the names of the variables for transactions
}

// onBoth runs a test on MariaDB and on MySQL.
func onBoth(t *testing.T, test func(t *testing.T, f flavor)) {
	for _, f := range []flavor{
		{"MariaDB", testserver.MariaDB, "tx"},
		{"MySQL", testserver.MySQL, "transaction"},
	} {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

var openMySQL = storetest.Opener(sqlassigner.OpenMySQL)

// database starts a server, which has the databases of a backend.
func (f flavor) database(t *testing.T, args ...string) storetest.Database {
	t.Helper()
	b := storetest.OnServer(f.start(t, args...), "uidring", openMySQL)
	b.Kind, b.Start, b.As = strings.ToLower(f.name), f.database, func(dsn, user string) string { return as(user, dsn) }
	b.Inside = inside
	return b
}

func inside(t *testing.T, dsn string) *sqlx.DB {
	return storetest.Session(t, openMySQL(t, dsn), "START TRANSACTION")
}

func TestNodes(t *testing.T) {
	onBoth(t, func(t *testing.T, f flavor) { storetest.Run(t, f.database(t)) })
}

// With GTIDs, MySQL keeps a transaction from changing tables of InnoDB and MyISAM, as some of the
// scripts have to.
func TestDialect(t *testing.T) {
	onBoth(t, func(t *testing.T, f flavor) {
		storetest.RunScripts(t, f.database(t, "--loose-gtid-mode=OFF", "--loose-enforce-gtid-consistency=OFF"))
	})
}

// as replaces the user of a DSN.
func as(user, dsn string) string { return strings.Replace(dsn, "root", user, 1) }

func TestUnusableHandleIsAnErrorOfAssign(t *testing.T) {
	for _, tt := range []struct {
		db       *sqlx.DB
		sentinel error
		want     string
	}{
		{sqlassigner.Wrap(sql.OpenDB(nil), "oracle"), sqlassigner.ErrUnknownDriver, `"oracle", allowed: mysql; sqlite, sqlite3; pgx, postgres`},
		{sqlassigner.Wrap(nil, sqlassigner.MySQL), nil, "no database handle (nil)"},
	} {
		_, err1 := sqlassigner.Disposable(tt.db, sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain())
		_, err2 := sqlassigner.Sticky(tt.db, "key", sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain())
		_, err3 := sqlassigner.Apply(t.Context(), tt.db, sqlassigner.Config{})
		_, err4 := sqlassigner.SegmentSource(tt.db, sqlassigner.Config{}).Advance(t.Context(), "orders", 1)
		_, err5 := sqlassigner.LeaseStore(tt.db, "orders", sqlassigner.Config{}).Status(t.Context())
		for _, err := range []error{err1, err2, err3, err4, err5} {
			stores.WantError(t, err, tt.sentinel, tt.want)
		}
	}
	stores.Fail(t, sqlassigner.LeaseStore(sqlassigner.Wrap(sql.OpenDB(nil), sqlassigner.MySQL), "a b", storetest.Undurable),
		"set assigner.LeaseConfig.AllowUndurable", "allowed: 1 to 64")
}

// mysqlEnv has the DSN of a server whose user may create databases, such as
// root:secret@tcp(127.0.0.1:3306)/mysql. Continuous integration sets it for MySQL and for TiDB,
// which Debian has no packages of.
const mysqlEnv = "UIDRING_TEST_MYSQL"

func TestNodesOnMySQL(t *testing.T)          { storetest.Run(t, mySQL(t)) }
func TestLeasesOnMySQL(t *testing.T)         { storetest.RunLeases(t, mySQL(t)) }
func TestScriptsOnMySQL(t *testing.T)        { storetest.RunScripts(t, mySQL(t)) }
func TestFaultsOfLeasesOnMySQL(t *testing.T) { storetest.LeasesWithstandFaults(t, mySQL(t)) }

// mySQL is a backend on a server that the test did not start: a proxy takes it down.
func mySQL(t *testing.T) storetest.Database {
	t.Helper()
	dsn := os.Getenv(mysqlEnv)
	if dsn == "" {
		t.Skipf("%s is not set", mysqlEnv)
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("%s: %v", mysqlEnv, err)
	}
	admin := config.FormatDSN()
	proxy := faultconn.Start(t, config.Addr)
	config.Net, config.Addr = "tcp", proxy.Addr()

	b := storetest.Database{Kind: "tidb", Open: openMySQL, Inside: inside, Addr: proxy.Addr()}
	b.Down = func(*testing.T, string) (up func()) { return proxy.Down() }
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		name := fmt.Sprintf("uidring_test_%d", rand.Uint64())
		storetest.Exec(t, openMySQL(t, admin), "CREATE DATABASE "+name)
		t.Cleanup(func() {
			db := openMySQL(t, admin)
			if _, err := db.Exec("DROP DATABASE " + name); err != nil { // the test's context has ended
				t.Error(err)
			}
		})
		inside := config.Clone()
		inside.DBName = name
		return openMySQL(t, inside.FormatDSN()), inside.FormatDSN()
	}
	return b
}

func TestExample(t *testing.T) {
	t.Setenv("IDS_DSN", testserver.MySQL(t).DSN())
	testkit.Example(t, ExampleLeased)
}
