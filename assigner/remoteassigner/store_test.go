package remoteassigner_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Package daemon of the command runs RunFaults against processes.
func TestConformance(t *testing.T) {
	db, err := sqlassigner.OpenMySQL(testserver.MariaDB(t).DSN())
	testkit.Close(t, db, err)
	if _, err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	handler := remoteassigner.NewHandler(func(namespace string) leasestore.Store {
		return sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	})
	server := httptest.NewServer(handler)
	t.Cleanup(func() { server.Close() })
	url, address := server.URL, server.Listener.Addr().String()
	store := func(namespace string) leasestore.Store {
		return remoteassigner.LeaseStore([]string{url}, namespace, remoteassigner.Config{})
	}
	var namespaces atomic.Int64
	assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("namespace-", namespaces.Add(1))
		return assignertest.StoreFixture{
			Handle: func() leasestore.Store { return store(name) },
			Other:  store,
			Down: func(t *testing.T) (up func()) {
				server.Close()
				return func() {
					l, err := net.Listen("tcp", address)
					if err != nil {
						t.Error(err)
						return
					}
					server = &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
					server.Start()
				}
			},
		}
	})
}
