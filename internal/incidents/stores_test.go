package incidents_test

import (
	"errors"
	"os"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testserver"
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

// folder returns an empty one for a FileStore. The folder for temporary files is in memory on some hosts, which
// the store refuses.
func folder(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{t.TempDir(), "."} {
		dir, err := os.MkdirTemp(parent, ".incidents-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		status, err := assigner.FileStore(dir).Status(t.Context())
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(status.Faults) == 0 {
			return dir
		}
	}
	t.Skip("neither the folder for temporary files nor this one is on a local disk")
	return ""
}
