package migrate_test

import (
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite"

	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

// A row that is read from both ends would look like a repeated ID.
func TestReadEndsReadsNoRowTwice(t *testing.T) {
	db, err := sqlx.Open("sqlite", t.TempDir()+"/ids.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.MustExecContext(t.Context(), "CREATE TABLE t (id BIGINT)")
	db.MustExecContext(t.Context(), "INSERT INTO t VALUES (1), (2), (3), (4), (5), (-1), (-2), (-3), (-4)")
	ids, all, err := migrate.ReadEnds(t.Context(), db, migrate.Column{Table: "t", Column: "id"}, 3)
	slices.Sort(ids)
	if want := []int64{-4, -3, -2, -1, 1, 2, 3, 4, 5}; err != nil || !all || !slices.Equal(ids, want) {
		t.Errorf("IDs %v, all %v, %v; want %v, all", ids, all, err, want)
	}
}
