package recipes

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/systest/recipes/testdata/sqlc"
	"github.com/uidring/uidring/uidringtest"
)

// The package is as `sqlc generate` writes it.
func TestSqlc(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "sqlc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id bigint PRIMARY KEY, replaces bigint)"); err != nil {
		t.Fatal(err)
	}
	ids, queries := uidringtest.New(1000, 1), shopdb.New(db)
	var replaces *uidring.ID
	for range 2 {
		id, err := ids.NextIDContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := queries.CreateOrder(t.Context(), shopdb.CreateOrderParams{ID: id, Replaces: replaces}); err != nil {
			t.Fatal(err)
		}
		order, err := queries.GetOrder(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if order.ID != id || (order.Replaces == nil) != (replaces == nil) || replaces != nil && *order.Replaces != *replaces {
			t.Errorf("order %+v, want %d that replaces %v", order, id, replaces)
		}
		replaces = &id
	}
}
