package sql_test

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver postgres

	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestPQ(t *testing.T) {
	t.Parallel()
	storetest.Driver(t, over(postgres(testserver.PostgreSQL(t)), func(dsn string) (*sqlx.DB, error) { return sqlx.Open("postgres", dsn) }))
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
	if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode=simple_protocol") || !strings.Contains(err.Error(), "42P05") {
		t.Errorf("Status with prepared statements: %v; want error 42P05 with advice", err)
	}
}
