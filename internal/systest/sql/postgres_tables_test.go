package sql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

func TestTableOfAnotherCaseOnPostgreSQLIsRefused(t *testing.T) {
	storetest.Twins(t, postgres(testserver.PostgreSQL(t)), map[string]string{
		`.WORKER_NODE beside `:       `CREATE TABLE "WORKER_NODE" (ID int)`,
		`.Worker_Lease_Meta beside `: `CREATE VIEW "Worker_Lease_Meta" AS SELECT 1`,
	})
}

// Apply does not make a second table in the first schema of the path, and two of them are refused:
// another user has another path.
func TestTablesInTwoSchemasOfPostgreSQL(t *testing.T) {
	db, dsn := postgres(testserver.PostgreSQL(t)).Applied(t)
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
func TestPostgreSQLGoesOnWithATableThatHasCapitals(t *testing.T) {
	db, _ := postgres(testserver.PostgreSQL(t)).Empty(t)
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

func TestUnloggedTableOfPostgreSQLIsRefused(t *testing.T) {
	storetest.Unsafe(t, postgres(testserver.PostgreSQL(t)), func(t *testing.T, db *sqlx.DB, table string) {
		storetest.Exec(t, db, "ALTER TABLE "+table+" SET UNLOGGED")
	}, func(table string) string { return "table " + table + " UNLOGGED (allowed: LOGGED)" })
}
