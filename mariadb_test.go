package uidring_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

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
			db := sql.OpenDB(connector)
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
			t.Run("reads back", func(t *testing.T) { checkRows(t, db, ids) })
			t.Run("texts sort", func(t *testing.T) { checkOrder(t, db, ids) })
			t.Run("pointers", func(t *testing.T) { checkPointers(t, db) })
			t.Run("refuses", func(t *testing.T) { checkRefusals(t, db) })
		})
	}
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// column returns one column of a query.
func column[T any](t *testing.T, db *sql.DB, query string, args ...any) []T {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	var values []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return values
}

func checkRows(t *testing.T, db *sql.DB, ids []uidring.ID) {
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

func checkOrder(t *testing.T, db *sql.DB, ids []uidring.ID) {
	for _, order := range []string{"id", "b32", "b62"} {
		if got := column[uidring.ID](t, db, "SELECT id FROM orders ORDER BY "+order); !slices.Equal(got, ids) {
			t.Errorf("by %s: %v, want %v", order, got, ids)
		}
	}
}

func checkPointers(t *testing.T, db *sql.DB) {
	id := uidring.ID(42)
	for _, pointer := range []*uidring.ID{nil, &id} {
		got := column[*uidring.ID](t, db, "SELECT CAST(? AS SIGNED)", pointer)
		if len(got) != 1 || (got[0] == nil) != (pointer == nil) || pointer != nil && *got[0] != id {
			t.Errorf("%v reads back as %v", pointer, got)
		}
	}
}

func checkRefusals(t *testing.T, db *sql.DB) {
	for _, c := range []struct {
		query string
		kind  error
	}{
		{"SELECT NULL", uidring.ErrNull},
		{"SELECT parent FROM orders WHERE id = 2", uidring.ErrNull},
		{"SELECT CAST(-1 AS SIGNED)", uidring.ErrRange},
		{"SELECT CAST(9223372036854775808 AS UNSIGNED)", uidring.ErrRange},
		{"SELECT CAST(1.5 AS DOUBLE)", uidring.ErrSyntax},
		{"SELECT b32 FROM orders WHERE id = 33", uidring.ErrSyntax},
	} {
		id := uidring.ID(7)
		err := db.QueryRowContext(t.Context(), c.query).Scan(&id)
		checkInvalid(t, c.query, err, c.kind)
		if id != 7 {
			t.Errorf("%s: ID = %d, want 7 as before", c.query, id)
		}
	}
	_, err := db.ExecContext(t.Context(), "UPDATE orders SET parent = ?", uidring.ID(-1))
	checkInvalid(t, "negative argument", err, uidring.ErrRange)
}
