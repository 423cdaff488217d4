package incidents_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// mariaDB starts a server with the tables of leases.
func mariaDB(t *testing.T) *testserver.Server {
	t.Helper()
	server := testserver.MariaDB(t)
	if err := sqlassigner.Apply(t.Context(), handle(t, service{DSN: server.DSN()}), sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	return server
}

// handle opens the database of a service, if it has one, for the test itself.
func handle(t *testing.T, s service) *sqlx.DB {
	t.Helper()
	db, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if db != nil {
			_ = db.Close()
		}
	})
	return db
}
