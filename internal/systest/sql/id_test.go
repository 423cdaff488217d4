package sql_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/storetest"
)

func TestSQLiteIDs(t *testing.T) { keepsIDs(t, sqlite()) }

// keepsIDs writes IDs as numbers and as texts, which sort like them in a collation that compares
// bytes.
func keepsIDs(t *testing.T, b storetest.Database) {
	db, _ := b.Applied(t)
	byBytes := `"C"`
	if db.DriverName() == "sqlite" {
		byBytes = "BINARY"
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), db.Rebind(query), args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, parent BIGINT, word VARCHAR(20), " +
		"b32 VARCHAR(13) COLLATE " + byBytes + ", b62 VARCHAR(11) COLLATE " + byBytes + ")")
	ids := []uidring.ID{1, 9, 10, 35, 36, 61, 62, 1<<53 - 1, 1 << 53, 1<<63 - 1}
	for _, id := range ids {
		exec("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", id, sql.Null[uidring.ID]{V: id, Valid: id%2 == 1}, id.String(), id.Base32(), id.Base62())
	}
	for _, id := range ids {
		var number, text uidring.ID
		var parent sql.Null[uidring.ID]
		row := db.QueryRowxContext(t.Context(), db.Rebind("SELECT id, word, parent FROM orders WHERE id = ?"), id)
		if err := row.Scan(&number, &text, &parent); err != nil {
			t.Fatal(err)
		}
		if number != id || text != id || parent.Valid != (id%2 == 1) || parent.Valid && parent.V != id {
			t.Errorf("%d reads back as %d, %d, %+v", id, number, text, parent)
		}
	}
	for _, order := range []string{"id", "b32", "b62"} {
		var got []uidring.ID
		if err := db.SelectContext(t.Context(), &got, "SELECT id FROM orders ORDER BY "+order); err != nil || !slices.Equal(got, ids) {
			t.Errorf("by %s: %v, %v, want %v", order, got, err, ids)
		}
	}
	id := uidring.ID(7)
	if err := db.QueryRowxContext(t.Context(), "SELECT parent FROM orders WHERE id = 10").Scan(&id); !errors.Is(err, uidring.ErrNull) || id != 7 {
		t.Errorf("NULL reads as %d, %v, want ErrNull and the ID as it was", id, err)
	}
}
