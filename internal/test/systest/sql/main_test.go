// Package sql tests package sqlassigner on SQLite and PostgreSQL. The root module does not require
// their drivers. The package contains only tests.
package sql_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

func TestMain(m *testing.M) {
	storetest.Child(openDSN)
	os.Exit(m.Run())
}

// openDSN opens PostgreSQL's URLs with pgx and everything else with SQLite.
func openDSN(dsn string) (*sqlx.DB, error) {
	if strings.HasPrefix(dsn, "postgres:") {
		return sqlx.Open("pgx", dsn)
	}
	return sqlx.Open("sqlite", dsn)
}

var open = storetest.Opener(openDSN)

// over returns a database whose handles another driver or another DSN opens.
func over(b storetest.Database, openDSN func(dsn string) (*sqlx.DB, error)) storetest.Database {
	empty := b.Empty
	b.Open = storetest.Opener(openDSN)
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		_, dsn := empty(t)
		return b.Open(t, dsn), dsn
	}
	return b
}

// filesRun feeds the files of a dialect to the database's client, twice.
func filesRun(t *testing.T, db *sqlx.DB, files func(...schema.Group) []schema.File, name, apt string, args ...string) {
	client := testserver.Program(t, name, apt)
	for _, f := range slices.Repeat(files(schema.Groups()...), 2) {
		cmd := exec.CommandContext(t.Context(), client, args...)
		cmd.Stdin = strings.NewReader(f.SQL)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "ERROR") {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	storetest.Assign(t, storetest.Kind(db, "sticky", sqlassigner.Config{}))
}
