package sql_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// postgres is a backend whose databases lie on one server.
func postgres(s *testserver.Server) storetest.Database {
	var databases atomic.Int64
	return storetest.Database{
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			name := fmt.Sprintf("test%d", databases.Add(1))
			storetest.Exec(t, open(t, s.DSN()), "CREATE DATABASE "+name)
			dsn := strings.Replace(s.DSN(), "/postgres?", "/"+name+"?", 1)
			return open(t, dsn), dsn
		},
		Open: open,
		Addr: s.Addr(),
		Kill: func(*testing.T) {
			s.Kill9()
			s.Restart()
		},
		Down: func(*testing.T, string) (up func()) {
			s.Kill9()
			return func() { s.Restart() }
		},
		Block: func(t *testing.T, dsn, table string) (unblock func()) {
			tx := open(t, dsn).MustBegin()
			tx.MustExec("LOCK TABLE " + table + " IN EXCLUSIVE MODE")
			return func() {
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		},
		Blocked: "SELECT COUNT(*) FROM pg_locks WHERE NOT granted",
		Numbers: "generate_series(0, %d) AS NUMBERS(N)",
		Analyze: "ANALYZE WORKER_LEASE",
		Explain: "EXPLAIN",
		Now:     "CURRENT_TIMESTAMP",
		Reads: func(t *testing.T, db *sqlx.DB) (read int) {
			storetest.Exec(t, db, "SELECT pg_stat_force_next_flush()")
			if err := db.Get(&read, "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'worker_lease'"); err != nil {
				t.Fatal(err)
			}
			return read
		},
		Inside: insidePostgres,
	}
}

// insidePostgres has pgx begin a transaction on each new connection, since pgx drops a connection
// that comes back to the pool inside one. Other drivers do not.
func insidePostgres(t *testing.T, dsn string) *sqlx.DB {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db := sqlx.NewDb(stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "BEGIN")
		return err
	})), "pgx")
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// One server is enough for all tests that need no settings and no users. The tests that kill it
// come first: after a crash it syncs the files of each database.
func TestPostgreSQL(t *testing.T) {
	b := postgres(testserver.PostgreSQL(t))
	for _, c := range []struct {
		name string
		run  func(*testing.T, storetest.Database)
	}{
		{"FaultsOfLeases", storetest.LeasesWithstandFaults},
		{"Segments", storetest.RunSegments},
		{"Nodes", storetest.Run},
		{"LeaseSwapWaitsForALock", swapWaits},
		{"LeaseSwapIsTriedAgainOnlyWhenRefused", swapTriedAgain},
		{"TableOfAnotherCaseIsRefused", postgresTwins},
		{"TablesInTwoSchemas", twoSchemas},
		{"TablesInAnotherSchemaAreLogged", anotherSchema},
		{"TableWithCapitals", capitals},
		{"TableThatIsNotOrdinaryIsRefused", notOrdinary},
		{"FilesRunWithTheClient", filesRun},
		{"IDs", keepsIDs},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b) })
	}
}

func TestPostgreSQLWithoutAFreeConnectionNamesTheLimit(t *testing.T) {
	storetest.NoConnectionLeft(t, postgres(testserver.PostgreSQL(t, "-c", "max_connections=10")))
}

func TestUndurablePostgreSQLIsRefusedOrWarnedAbout(t *testing.T) {
	s := testserver.PostgreSQL(t)
	db, dsn := postgres(s).Applied(t)
	const commit, fsync = "synchronous_commit=off (allowed: all others)", "fsync=off (allowed: on)"
	t.Run("by session", func(t *testing.T) {
		storetest.CheckUndurable(t, open(t, dsn+"&synchronous_commit=off"), commit)
	})
	for _, tt := range []struct{ args, want []string }{
		{[]string{"-c", "synchronous_commit=off"}, []string{commit}},
		{[]string{"-c", "fsync=off"}, []string{fsync}},
		{[]string{"-c", "synchronous_commit=off", "-c", "fsync=off"}, []string{commit, fsync}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			s.Restart(tt.args...)
			storetest.CheckUndurable(t, db, tt.want...)
		})
	}
	s.Restart("-c", "synchronous_commit=local")
	storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
}

func TestReadOnlyPostgreSQLIsRefusedUntilItTakesWrites(t *testing.T) {
	db, dsn := postgres(testserver.PostgreSQL(t)).Applied(t)
	l := storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	readOnly := open(t, dsn+"&default_transaction_read_only=on")
	for _, cfg := range []sqlassigner.Config{{}, {AllowUndurable: true}} {
		_, err := storetest.TryAssign(t, sqlassigner.Disposable(readOnly, cfg), 300*time.Millisecond)
		if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), "transaction_read_only is on") {
			t.Errorf("Assign: %v, want ErrStoreNotDurable naming transaction_read_only", err)
		}
	}
	set := func(value string) func() {
		return func() {
			storetest.Exec(t, db, "ALTER SYSTEM SET default_transaction_read_only = "+value, "SELECT pg_reload_conf()")
			awaitSetting(t, dsn, "default_transaction_read_only", value)
		}
	}
	storetest.ComesBack(t, open(t, dsn), set("on"), func() {
		storetest.Exec(t, db, "SET default_transaction_read_only = off")
		set("off")()
	})
	storetest.Renew(t, l)
}

// awaitSetting returns when new sessions have a setting: the server reads its configuration in its
// own time.
func awaitSetting(t *testing.T, dsn, name, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for got := ""; got != want; {
		db := open(t, dsn)
		if err := db.GetContext(ctx, &got, "SELECT current_setting('"+name+"')"); err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
	}
}

// failThrice has the server reject the first three statements of a kind, with the given error. It
// counts them in a sequence, which does not take part in transactions.
func failThrice(t *testing.T, db *sqlx.DB, statement, state string) {
	t.Helper()
	storetest.Exec(t, db, "CREATE SEQUENCE attempt",
		fmt.Sprintf("CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+
			"IF nextval('attempt') < 4 THEN RAISE EXCEPTION 'passes' USING ERRCODE = '%s'; END IF; "+
			"RETURN NEW; END $$", state),
		"CREATE TRIGGER fails BEFORE "+statement+" FOR EACH ROW EXECUTE FUNCTION fails()")
}

func TestPostgreSQLDeniesAccessWithoutThePassword(t *testing.T) {
	s := testserver.PostgreSQL(t)
	admin, dsn := postgres(s).Applied(t)
	storetest.Exec(t, admin, "CREATE USER ids PASSWORD 'hunter2'", "CREATE USER reader PASSWORD 'hunter2'",
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	storetest.Exec(t, admin, "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ids")
	owned := open(t, strings.Replace(dsn, "postgres@", "ids@", 1))
	if err := sqlassigner.Apply(t.Context(), owned, sqlassigner.Config{}); err != nil {
		t.Errorf("Apply without a missing table, by a user who may not create one: %v", err)
	}
	storetest.Exec(t, admin, "DROP INDEX WORKER_LEASE_EXPIRY")
	if err := sqlassigner.Apply(t.Context(), owned, sqlassigner.Config{}); !errors.Is(err, sqlassigner.ErrAccessDenied) {
		t.Errorf("Apply without an index: %v, want %v", err, sqlassigner.ErrAccessDenied)
	}
	storetest.Exec(t, admin, "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ids")
	as := func(user, database string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, "hunter2")
		if database != "" {
			u.Path = "/" + database
		}
		return u.String()
	}
	storetest.Denied(t, open, []storetest.Denial{
		{DSN: as("absent", ""), Is: sqlassigner.ErrAccessDenied, Says: "check user and password"},
		{DSN: as("ids", ""), Is: sqlassigner.ErrAccessDenied, Says: "permission denied for table"},
		{DSN: as("reader", ""), Is: sqlassigner.ErrAccessDenied, Says: "the user needs SELECT, INSERT and UPDATE"},
		{DSN: as("postgres", "absent"), Is: sqlassigner.ErrTableMissing, Says: "create the database"},
		{DSN: as("postgres", "") + "&default_transaction_read_only=on", Is: assigner.ErrStoreNotDurable, Says: "transaction_read_only is on"},
		{DSN: strings.Replace(as("ids", ""), s.Addr(), "127.0.0.1:1", 1), Is: sqlassigner.ErrUnreachable, Says: "check that the server runs"},
	})
}

func filesRun(t *testing.T, b storetest.Database) {
	client := testserver.Program(t, "psql", "postgresql-client")
	db, dsn := b.Empty(t)
	for range 2 {
		for _, f := range schema.PostgreSQL() {
			runClient(t, f.SQL, client, "-X", "-v", "ON_ERROR_STOP=1", dsn)
		}
	}
	storetest.Assign(t, sqlassigner.Sticky(db, "key", sqlassigner.Config{}))
}
