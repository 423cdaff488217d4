package sql_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
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
	first := storetest.Assign(t, storetest.Disposable(db))
	storetest.Apply(t, both)
	second := storetest.Assign(t, storetest.Disposable(both))
	if first.Grant().WorkerID == second.Grant().WorkerID {
		t.Errorf("worker %d in public, and again with app in front", first.Grant().WorkerID)
	}
	app := open(t, dsn+"&search_path=app")
	storetest.Apply(t, app)
	storetest.Assign(t, storetest.Disposable(app))
	const twins = "public.worker_node beside app.worker_node"
	storetest.Refused(t, storetest.Disposable(both), sqlassigner.ErrTableTwin, twins)
	_, err := sqlassigner.Apply(t.Context(), both, sqlassigner.Config{})
	storetest.WantError(t, err, sqlassigner.ErrTableTwin, twins)
}

// Nothing can refuse tables of two schemas of which neither is on the other's search path: the
// warning names them. A connection with another path uses the tables that were found first.
func anotherSchema(t *testing.T, b storetest.Database) {
	db, dsn := b.Applied(t)
	storetest.Exec(t, db, "CREATE SCHEMA app")
	storetest.Apply(t, open(t, dsn+"&search_path=app"))
	var log testkit.Recorder
	app := storetest.Session(t, open(t, dsn+"&search_path=app"))
	a := assigner.Leased(sqlassigner.LeaseStore(app, "orders", sqlassigner.Config{Logger: log.TextLogger()}), assigner.LeaseConfig{})
	storetest.Assign(t, a)
	storetest.Exec(t, app, "SET search_path = public")
	storetest.Assign(t, a)
	want := []string{`level=WARN msg="sqlassigner: other schemas have tables of these names" ` +
		`others="[public.worker_lease public.worker_lease_meta public.worker_node]"`}
	if got := log.Read(); !slices.Equal(got, want) {
		t.Errorf("log %q, want %q", got, want)
	}
	rows := storetest.Get[string](t, db, "SELECT (SELECT COUNT(*) FROM app.worker_lease) || ' ' || COUNT(*) FROM public.worker_lease")
	if rows != "2 0" {
		t.Errorf("rows in app and in public: %s, want 2 0", rows)
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
		"a view":          "CREATE VIEW %s AS SELECT 1",
		"partitioned":     "CREATE TABLE %s (ID int) PARTITION BY HASH (ID)", // the parts may be unlogged
		"a foreign table": "CREATE FOREIGN TABLE %s (ID int) SERVER far",
	} {
		db, _ := b.Applied(t)
		storetest.Exec(t, db, "CREATE FOREIGN DATA WRAPPER far", "CREATE SERVER far FOREIGN DATA WRAPPER far")
		for _, table := range []string{"WORKER_LEASE", "ID_SEGMENT"} {
			storetest.Exec(t, db, "DROP TABLE "+table, fmt.Sprintf(statement, table))
		}
		storetest.Refused(t, storetest.Leased(db), leasestore.ErrNotDurable, "table worker_lease, which is "+kind+" (allowed:")
		_, err := sqlassigner.SegmentSource(db, sqlassigner.Config{}).Advance(t.Context(), "orders", 1)
		storetest.WantError(t, err, leasestore.ErrNotDurable, "table id_segment, which is "+kind+" (allowed:")
	}
}
