package uidring_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testserver"
)

// TestIDsInMariaDB asks a real server through both protocols of the driver: with arguments in
// prepared statements, which answer in binary, and with arguments put into the text, where the
// answer is text, too.
func TestIDsInMariaDB(t *testing.T) {
	server := testserver.MariaDB(t)
	for name, inText := range map[string]bool{"prepared": false, "text": true} {
		t.Run(name, func(t *testing.T) {
			config, err := mysql.ParseDSN(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			config.InterpolateParams = inText
			connector, err := mysql.NewConnector(config)
			if err != nil {
				t.Fatal(err)
			}
			db := sqlx.NewDb(sql.OpenDB(connector), "mysql")
			t.Cleanup(func() { _ = db.Close() })
			mustExec(t, db, `CREATE OR REPLACE TABLE orders (
				id BIGINT NOT NULL PRIMARY KEY, large BIGINT UNSIGNED NOT NULL, parent BIGINT, word VARCHAR(20) NOT NULL,
				b32 CHAR(13) NOT NULL UNIQUE, b62 CHAR(11) CHARACTER SET ascii COLLATE ascii_bin NOT NULL UNIQUE)`)
			ids := sampleIDs()[:200]
			ids = append(ids, 1<<63-1)
			for _, id := range ids {
				mustExec(t, db, "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
					id, id, sql.Null[uidring.ID]{V: id, Valid: id%2 == 1}, id.String(), id.Base32(), id.Base62())
			}
			checkRows(t, db, ids)
			checkOrder(t, db, ids)
		})
	}
}

func mustExec(t *testing.T, db *sqlx.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func checkRows(t *testing.T, db *sqlx.DB, ids []uidring.ID) {
	for _, id := range ids {
		var signed, unsigned, text uidring.ID
		var parent sql.Null[uidring.ID]
		row := db.QueryRowContext(t.Context(), "SELECT id, large, word, parent FROM orders WHERE id = ?", id)
		if err := row.Scan(&signed, &unsigned, &text, &parent); err != nil {
			t.Fatal(err)
		}
		if signed != id || unsigned != id || text != id {
			t.Errorf("read %d, %d, %d, want %d", signed, unsigned, text, id)
		}
		if want := id%2 == 1; parent.Valid != want || want && parent.V != id {
			t.Errorf("parent of %d is %+v, want valid: %v", id, parent, want)
		}
	}
}

func checkOrder(t *testing.T, db *sqlx.DB, ids []uidring.ID) {
	for _, order := range []string{"id", "b32", "b62"} {
		var got []uidring.ID
		if err := db.SelectContext(t.Context(), &got, "SELECT id FROM orders ORDER BY "+order); err != nil || !slices.Equal(got, ids) {
			t.Errorf("by %s: %v, %v, want %v", order, got, err, ids)
		}
	}
}
