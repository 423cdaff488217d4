package sqlassigner_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/storetest"
)

// mysqlEnv has the DSN of a server whose user may create databases, such as
// root:secret@tcp(127.0.0.1:3306)/mysql. Continuous integration sets it for MySQL and for TiDB,
// which Debian has no packages of.
const mysqlEnv = "UIDRING_TEST_MYSQL"

func TestNodesOnMySQL(t *testing.T)          { storetest.Run(t, mySQL(t)) }
func TestLeasesOnMySQL(t *testing.T)         { storetest.RunLeases(t, mySQL(t)) }
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

	b := mariaDB(nil)
	b.Addr = proxy.Addr()
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		name := fmt.Sprintf("uidring_test_%d", rand.Uint64())
		storetest.Exec(t, openMariaDB(t, admin), "CREATE DATABASE "+name)
		t.Cleanup(func() {
			db := openMariaDB(t, admin)
			if _, err := db.Exec("DROP DATABASE " + name); err != nil { // the test's context has ended
				t.Error(err)
			}
		})
		inside := config.Clone()
		inside.DBName = name
		return openMariaDB(t, inside.FormatDSN()), inside.FormatDSN()
	}
	b.Down = func(*testing.T, string) (up func()) { return proxy.Down() }
	b.Block = nil // TiDB locks no tables
	return b
}
