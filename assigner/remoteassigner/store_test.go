package remoteassigner_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A service offers all namespaces of a database over HTTP, at one address for its whole life.
type service struct {
	database *testserver.Server
	db       *sqlx.DB
	http     *httptest.Server
	outages  int
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
	s := &service{database: database, db: db}
	s.http = httptest.NewServer(remoteassigner.NewHandler(func(namespace string) leasestore.Store {
		return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	}))
	t.Cleanup(func() { s.http.Close() })
	return s
}

func (s *service) store(namespace string) leasestore.Store {
	return remoteassigner.LeaseStore(remoteassigner.Config{URLs: []string{s.http.URL}}, namespace)
}

// down ends the database or the HTTP server, in turn, until up is called.
func (s *service) down(t *testing.T) (up func()) {
	if s.outages++; s.outages%2 == 0 {
		s.database.Kill9()
		return func() { s.database.Restart() }
	}
	s.http.Close()
	return func() {
		l, err := net.Listen("tcp", s.http.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.http.Config.Handler}}
		s.http.Start()
	}
}

// fixture is a new namespace.
func (s *service) fixture(name string) assignertest.StoreFixture {
	return assignertest.StoreFixture{
		Handle: func() leasestore.Store { return s.store(name) },
		Other:  s.store,
		Down:   s.down,
	}
}

// Package daemon of the command runs the suite on a lossy store, and RunFaults against processes.
func TestConformance(t *testing.T) {
	s := startService(t, testserver.MariaDB(t))
	var namespaces atomic.Int64
	assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
		return s.fixture(fmt.Sprint("namespace-", namespaces.Add(1)))
	})
}
