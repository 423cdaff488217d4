package sql_test

import (
	"flag"
	"testing"

	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

var load = flag.Int("load", 0, "fill a namespace with so many rows, and time claims and List in it; 4000000 is full for 22 worker bits")

func TestLoadPostgreSQL(t *testing.T) {
	if *load == 0 {
		t.Skip("without -load")
	}
	loadRows(t, postgres(testserver.PostgreSQL(t)))
}

func TestLoadSQLite(t *testing.T) {
	if *load == 0 {
		t.Skip("without -load")
	}
	loadRows(t, sqlite())
}

func loadRows(t *testing.T, b storetest.Database) {
	t.Run("Claims", func(t *testing.T) { storetest.LoadClaims(t, b, *load) })
	t.Run("List", func(t *testing.T) { storetest.LoadList(t, b, *load/4) })
}
