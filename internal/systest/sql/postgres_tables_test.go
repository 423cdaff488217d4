package sql_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/recorder"
	"github.com/uidring/uidring/internal/test/storetest"
)

func postgresTwins(t *testing.T, b storetest.Database) {
	storetest.Twins(t, b, map[string]string{
		`.WORKER_NODE beside `:       `CREATE TABLE "WORKER_NODE" (ID int)`,
		`.Worker_Lease_Meta beside `: `CREATE VIEW "Worker_Lease_Meta" AS SELECT 1`,
	})
}

// Apply does not make a second table in the first schema of the path, and two of them are refused:
// another user has another path.
func twoSchemas(t *testing.T, b storetest.Database) {
	db, dsn := b.Applied(t)
	both := open(t, dsn+"&search_path=app,public")
	storetest.Exec(t, db, "CREATE SCHEMA app")
	first := storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	storetest.Apply(t, both)
	second := storetest.Assign(t, sqlassigner.Disposable(both, sqlassigner.Config{}))
	if first.Grant().WorkerID == second.Grant().WorkerID {
		t.Errorf("worker %d in public, and again with app in front", first.Grant().WorkerID)
	}
	app := open(t, dsn+"&search_path=app")
	storetest.Apply(t, app)
	storetest.Assign(t, sqlassigner.Disposable(app, sqlassigner.Config{}))
	_, err1 := storetest.TryAssign(t, sqlassigner.Disposable(both, sqlassigner.Config{}), 5*time.Second)
	err2 := sqlassigner.Apply(t.Context(), both, sqlassigner.Config{})
	for _, err := range []error{err1, err2} {
		if !errors.Is(err, sqlassigner.ErrTableTwin) || !strings.Contains(err.Error(), "public.worker_node beside app.worker_node") {
			t.Errorf("error %v, want ErrTableTwin naming both tables", err)
		}
	}
}

// A name is exact: the one of a table that was created with quotes.
func capitals(t *testing.T, b storetest.Database) {
	db, _ := b.Empty(t)
	cfg := sqlassigner.Config{TableName: strings.ToUpper}
	if err := sqlassigner.Apply(t.Context(), db, cfg); err != nil {
		t.Fatal(err)
	}
	storetest.Assign(t, sqlassigner.Sticky(db, "key", cfg))
	var rows int
	if err := db.Get(&rows, `SELECT COUNT(*) FROM "WORKER_NODE"`); err != nil || rows != 1 {
		t.Errorf("%d rows in the table with capitals, want 1: %v", rows, err)
	}
}

// Such tables may lie in an unlogged table, in another database or in memory.
func notOrdinary(t *testing.T, b storetest.Database) {
	storetest.Unsafe(t, b, func(t *testing.T, db *sqlx.DB, table string) {
		storetest.Exec(t, db, "ALTER TABLE "+table+" SET UNLOGGED")
	}, func(table string) string {
		return "table " + table + ", which is UNLOGGED (allowed: an ordinary permanent table)"
	})
	for kind, statement := range map[string]string{
		"a view":              "CREATE VIEW %s AS SELECT 1",
		"partitioned":         "CREATE TABLE %s (ID int) PARTITION BY HASH (ID)", // the parts may be unlogged
		"a materialized view": "CREATE MATERIALIZED VIEW %s AS SELECT 1",
		"a foreign table":     "CREATE FOREIGN TABLE %s (ID int) SERVER far",
	} {
		db, _ := b.Applied(t)
		storetest.Exec(t, db, "CREATE FOREIGN DATA WRAPPER far", "CREATE SERVER far FOREIGN DATA WRAPPER far")
		for _, table := range []string{"WORKER_LEASE", "ID_SEGMENT"} {
			storetest.Exec(t, db, "DROP TABLE "+table, fmt.Sprintf(statement, table))
		}
		_, errLease := storetest.TryAssign(t, assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{}), time.Minute)
		_, errSegment := sqlassigner.SegmentSource(db, sqlassigner.Config{}).Advance(t.Context(), "orders", 1)
		for _, err := range []error{errLease, errSegment} {
			if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), ", which is "+kind+" (allowed:") {
				t.Errorf("%v, want ErrStoreNotDurable for %s", err, kind)
			}
		}
	}
}

// Nothing can refuse tables of two schemas of which neither is on the other's search path: the
// warning names them. A connection with another path uses the tables that were found first.
func anotherSchema(t *testing.T, b storetest.Database) {
	db, dsn := b.Applied(t)
	storetest.Exec(t, db, "CREATE SCHEMA app")
	storetest.Apply(t, open(t, dsn+"&search_path=app"))
	var log recorder.Recorder
	app := open(t, dsn+"&search_path=app")
	app.SetMaxOpenConns(1)
	store := sqlassigner.LeaseStore(app, "orders", sqlassigner.Config{Logger: log.TextLogger()})
	a := assigner.Leased(store, assigner.LeaseConfig{})
	storetest.Assign(t, a)
	storetest.Exec(t, app, "SET search_path = public")
	storetest.Assign(t, a)
	want := []string{`level=WARN msg="sqlassigner: other schemas have tables of these names" ` +
		`others="[public.worker_lease public.worker_lease_meta public.worker_node]"`}
	if got := log.Read(); !slices.Equal(got, want) {
		t.Errorf("log %q, want %q", got, want)
	}
	var here, there int
	if err := errors.Join(db.Get(&here, "SELECT COUNT(*) FROM app.worker_lease"), db.Get(&there, "SELECT COUNT(*) FROM public.worker_lease")); err != nil || here != 2 || there != 0 {
		t.Errorf("%d rows in app, %d in public, want 2 and 0: %v", here, there, err)
	}
}
