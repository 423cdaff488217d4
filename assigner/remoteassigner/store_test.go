package remoteassigner_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A service offers all namespaces of a database over HTTP, at one address for its whole life.
type service struct {
	db      *sqlx.DB
	handler http.Handler
	http    *httptest.Server
}

func startService(t *testing.T, database *testserver.Server) *service {
	t.Helper()
	db, err := sqlassigner.OpenMySQL(database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	s := &service{db: db}
	s.handler = remoteassigner.NewHandler(func(namespace string) assigner.Store {
		return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	})
	s.http = httptest.NewServer(s.handler)
	t.Cleanup(func() { s.http.Close() })
	return s
}

func (s *service) store(namespace string) assigner.Store {
	return remoteassigner.LeaseStore(remoteassigner.Config{URLs: []string{s.http.URL}}, namespace)
}

// exec changes the tables of the namespace as a person would.
func (s *service) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// fixture is a new namespace. Its outages are outages of the database, behind the service.
func (s *service) fixture(name string, database *testserver.Server) assignertest.StoreFixture {
	own := " WHERE NAMESPACE = '" + name + "'"
	return assignertest.StoreFixture{
		Handle: func() assigner.Store { return s.store(name) },
		Other:  s.store,
		Delete: func(t *testing.T, workerID int64) {
			s.exec(t, fmt.Sprintf("DELETE FROM WORKER_LEASE%s AND WORKER_ID = %d", own, workerID))
		},
		Clear: func(t *testing.T) {
			s.exec(t, "DELETE FROM WORKER_LEASE"+own, "DELETE FROM WORKER_LEASE_META"+own)
		},
		Down: func(*testing.T) (up func()) {
			database.Kill9()
			return sync.OnceFunc(func() { database.Restart() })
		},
	}
}

// Package daemon of the command runs the suites against processes that are killed.
func TestConformance(t *testing.T) {
	database := testserver.MariaDB(t)
	s := startService(t, database)
	var namespaces atomic.Int64
	assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
		return s.fixture(fmt.Sprint("namespace-", namespaces.Add(1)), database)
	})
}
