package uidring_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// TestIDsInDatabases asks real servers through both protocols of the driver: with arguments in
// prepared statements, which answer in binary, and with arguments put into the text, where the
// answer is text, too.
func TestIDsInDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: -short")
	}
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{"MariaDB": testserver.MariaDB, "MySQL": testserver.MySQL} {
		t.Run(name, func(t *testing.T) { inDatabase(t, start(t)) })
	}
}

func inDatabase(t *testing.T, server *testserver.Server) {
	for name, inText := range map[string]bool{"prepared": false, "text": true} {
		t.Run(name, func(t *testing.T) {
			config, err := mysql.ParseDSN(server.DSN())
			testkit.Must(t, err)
			config.InterpolateParams = inText
			connector, err := mysql.NewConnector(config)
			testkit.Must(t, err)
			db := sqlx.NewDb(sql.OpenDB(connector), "mysql")
			t.Cleanup(func() { _ = db.Close() })
			db.MustExec("DROP TABLE IF EXISTS orders")
			db.MustExec(`CREATE TABLE orders (
				id BIGINT NOT NULL PRIMARY KEY, large BIGINT UNSIGNED NOT NULL, parent BIGINT, word VARCHAR(20) NOT NULL,
				b32 CHAR(13) NOT NULL UNIQUE, b62 CHAR(11) CHARACTER SET ascii COLLATE ascii_bin NOT NULL UNIQUE)`)
			ids := append(sampleIDs()[:200], 1<<63-1)
			var want []row
			for _, id := range ids {
				r := row{ID: id, Large: id, Word: id}
				if id%2 == 1 {
					r.Parent = sql.Null[uidring.ID]{V: id, Valid: true}
				}
				want = append(want, r)
				db.MustExec("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", id, id, r.Parent, id.String(), id.Base32(), id.Base62())
			}
			for _, order := range []string{"id", "b32", "b62"} {
				var got []row
				err := db.SelectContext(t.Context(), &got, "SELECT id, large, word, parent FROM orders WHERE id >= ? ORDER BY "+order, 0)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("by %s: %v, %v, want %v", order, got, err, want)
				}
			}
		})
	}
}

// A row has an ID in columns of several types.
type row struct {
	ID, Large, Word uidring.ID
	Parent          sql.Null[uidring.ID]
}
