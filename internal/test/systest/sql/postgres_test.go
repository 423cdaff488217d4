package sql_test

import (
	"context"
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver postgres

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// postgres is a backend whose databases lie on one server.
func postgres(s *testserver.Server) storetest.Database {
	b := storetest.OnServer(s, "postgres", open)
	b.Kind, b.As = "postgres", func(dsn, user string) string { return strings.Replace(dsn, "postgres@", user+"@", 1) }
	b.Start = func(t *testing.T, args ...string) storetest.Database {
		return postgres(testserver.PostgreSQL(t, args...))
	}
	b.Inside = insidePostgres
	return b
}

// insidePostgres has pgx begin a transaction on each new connection, since pgx drops a connection
// that comes back to the pool inside one. Other drivers do not.
func insidePostgres(t *testing.T, dsn string) *sqlx.DB {
	cfg, err := pgx.ParseConfig(dsn)
	testkit.Must(t, err)
	return storetest.Opened(t, sqlx.NewDb(stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "BEGIN")
		return err
	})), "pgx"), nil)
}

// One server is enough for all tests that need no settings and no users. The tests that kill it
// come first: after a crash it syncs the files of each database.
func TestPostgreSQL(t *testing.T) {
	b := postgres(testserver.PostgreSQL(t))
	t.Run("FaultsOfLeases", func(t *testing.T) { storetest.LeasesWithstandFaults(t, b) })
	t.Run("Segments", func(t *testing.T) { storetest.RunSegments(t, b) })
	t.Run("Nodes", func(t *testing.T) { storetest.Run(t, b) })
	t.Run("FilesRunWithTheClient", func(t *testing.T) {
		db, dsn := b.Empty(t)
		filesRun(t, db, schema.PostgreSQL, "psql", "postgresql-client", "-X", "-v", "ON_ERROR_STOP=1", dsn)
	})
	t.Run("IDs", func(t *testing.T) { keepsIDs(t, b) })
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

func TestScriptsOnPostgreSQL(t *testing.T) {
	storetest.RunScripts(t, postgres(testserver.PostgreSQL(t)))
}

func TestPQ(t *testing.T) {
	t.Parallel()
	b := over(postgres(testserver.PostgreSQL(t)), func(dsn string) (*sqlx.DB, error) { return sqlx.Open("postgres", dsn) })
	b.Kind = "pq"
	storetest.Driver(t, b)
}

// In pgbouncer's transaction mode the statements of a session run on different connections.
func TestLeasesThroughPgBouncer(t *testing.T) {
	t.Parallel()
	server := testserver.PostgreSQL(t)
	pooler := testserver.PgBouncer(t, server)
	b := over(postgres(server), func(dsn string) (*sqlx.DB, error) {
		return openDSN(strings.Replace(dsn, server.Addr(), pooler.Addr(), 1) + "&default_query_exec_mode=simple_protocol")
	})
	b.Down = func(*testing.T, string) (up func()) { // without its server it holds calls back
		pooler.Kill9()
		return func() { pooler.Restart() }
	}
	_, dsn := b.Applied(t)
	want := regexp.MustCompile(`^PostgreSQL database \w+ at ` + strings.Replace(server.Addr(), ":", " port ", 1) + "$") // an IPv6 address has colons
	if got := stores.Status(t, storetest.LeaseStore(b.Open(t, dsn))).Store; !want.MatchString(got) {
		t.Errorf("Store %q, want %v", got, want)
	}
	storetest.Driver(t, b)
}

// pgx prepares statements by default, and meets the prepared statements of other sessions.
func TestPreparedStatementsThroughPgBouncerGetAdvice(t *testing.T) {
	t.Parallel()
	server := testserver.PostgreSQL(t)
	pooler := testserver.PgBouncer(t, server, "default_pool_size = 1", "ignore_startup_parameters = extra_float_digits")
	_, dsn := postgres(server).Applied(t)
	dsn = strings.Replace(dsn, server.Addr(), pooler.Addr(), 1)
	var err error
	for range 3 { // sessions share one connection to the server
		if err == nil {
			_, err = storetest.LeaseStore(open(t, dsn)).Status(t.Context())
		}
	}
	stores.WantError(t, err, nil, "default_query_exec_mode=simple_protocol", "42P05")
}

// keepsIDs writes IDs as numbers and as texts, which sort like them in a collation that compares
// bytes.
func keepsIDs(t *testing.T, b storetest.Database) {
	db, _ := b.Empty(t)
	storetest.Exec(t, db, `CREATE TABLE orders (id BIGINT PRIMARY KEY, word VARCHAR(20), b32 VARCHAR(13) COLLATE "C", b62 VARCHAR(11) COLLATE "C")`)
	ids := []uidring.ID{1, 9, 10, 35, 36, 61, 62, 1<<53 - 1, 1 << 53, 1<<63 - 1}
	for _, id := range ids {
		if _, err := db.Exec(db.Rebind("INSERT INTO orders VALUES (?, ?, ?, ?)"), id, id.String(), id.Base32(), id.Base62()); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{"SELECT id FROM orders ORDER BY id", "SELECT word FROM orders ORDER BY b32", "SELECT id FROM orders ORDER BY b62"} {
		var got []uidring.ID
		if err := db.Select(&got, query); err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s: %v, %v, want %v", query, got, err, ids)
		}
	}
}

// The server logs each statement.
func TestStatementsOfALeaseOnPostgreSQL(t *testing.T) {
	t.Parallel()
	dsn := testserver.PostgreSQL(t, "-c", "logging_collector=on", "-c", "log_statement=all").DSN()
	admin := open(t, dsn)
	storetest.Apply(t, admin)
	storetest.Statements(t, open(t, dsn), open(t, dsn), func() int {
		marker := "SELECT 'marker of " + rand.Text() + "'"
		storetest.Exec(t, admin, marker)
		for {
			log := storetest.Get[string](t, admin, "SELECT pg_read_file(pg_current_logfile())")
			if before, _, ok := strings.Cut(log, marker); ok { // the log is written by another process
				return strings.Count(before, "LOG:  execute") + strings.Count(before, "LOG:  statement") - strings.Count(before, "marker of") - strings.Count(before, "pg_read_file")
			}
		}
	})
}
