package sql_test

import (
	"slices"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/storetest"
)

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
