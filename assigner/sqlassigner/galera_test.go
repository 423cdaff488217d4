package sqlassigner_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/faultconn"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// Handles of the suite lie on different nodes, as processes behind a balancer do.
func TestLeasesOnGalera(t *testing.T) {
	nodes := testserver.Galera(t, 3)
	var wire faultconn.Wire
	var proxies []*faultconn.Proxy
	for _, node := range nodes {
		proxies = append(proxies, wire.Proxy(t, node.Addr()))
	}
	b := mariaDB(nodes[0])
	empty := b.Empty
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		_, dsn := empty(t)
		for _, node := range nodes { // to connect to a database waits for no other node
			storetest.Exec(t, openMariaDB(t, node.DSN()+"?wsrep_sync_wait=15"), "SHOW DATABASES")
		}
		dsn += "?wsrep_sync_wait=15"
		return openMariaDB(t, dsn), dsn
	}
	var opened atomic.Int64
	b.Open = func(t *testing.T, dsn string) *sqlx.DB {
		addr := proxies[opened.Add(1)%int64(len(proxies))].Addr()
		return openMariaDB(t, strings.Replace(dsn, nodes[0].Addr(), addr, 1))
	}
	b.Down = func(*testing.T, string) (up func()) { return wire.Down() }
	b.Starts = 20
	t.Run("Conforms", func(t *testing.T) { storetest.LeasesConform(t, b) })
	_, dsn := b.Applied(t)
	t.Run("Status", func(t *testing.T) { galeraStatus(t, b, dsn) })
	t.Run("NodesAreLost", func(t *testing.T) { galeraNodesLost(t, nodes, dsn) })
}

func galeraStatus(t *testing.T, b storetest.Database, dsn string) {
	status, err := storetest.LeaseStore(b.Open(t, dsn)).Status(t.Context())
	if !regexp.MustCompile(`^[0-9a-f-]{36}$`).MatchString(status.Identity) || len(status.Faults) > 0 || err != nil {
		t.Errorf("status %+v, want the UUID of the cluster and no faults: %v", status, err)
	}
	for range 3 {
		other, err := storetest.LeaseStore(b.Open(t, dsn)).Status(t.Context())
		if other.Identity != status.Identity || err != nil {
			t.Errorf("identity %q of another node, want %q: %v", other.Identity, status.Identity, err)
		}
	}
	for wait, want := range map[int]bool{0: true, 1: true, 3: true, 7: false} {
		db := b.Open(t, strings.Replace(dsn, "=15", fmt.Sprint("=", wait), 1))
		status, err := storetest.LeaseStore(db).Status(t.Context())
		fault := slices.ContainsFunc(status.Faults, func(s string) bool { return strings.Contains(s, "add wsrep_sync_wait=15 to the DSN") })
		if fault != want || err != nil {
			t.Errorf("faults %q with wsrep_sync_wait=%d, want one: %v, %v", status.Faults, wait, want, err)
		}
	}
}

// Two of three nodes are killed one after the other: the first loss is invisible to the rest, and
// after the second one the last node takes no statements.
func galeraNodesLost(t *testing.T, nodes []*testserver.Server, dsn string) {
	for _, node := range nodes {
		storetest.Exec(t, openMariaDB(t, node.DSN()), "SET GLOBAL wsrep_provider_options = "+
			"'evs.suspect_timeout=PT2S'")
	}
	db := openMariaDB(t, dsn)
	l := storetest.Assign(t, assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{}))
	nodes[1].Kill9()
	if err := l.Renew(t.Context(), 1, l.Grant().Limit+1); err != nil {
		t.Errorf("Renew after one node was lost: %v", err)
	}
	nodes[2].Kill9()
	poll.Until(t, "Renew says that the node has left the majority of its cluster", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := l.Renew(ctx, 1, l.Grant().Limit+1)
		return err != nil && strings.Contains(err.Error(), "has left the majority of its cluster")
	})
}

// A connection that reports one of these errors leads to a node outside its cluster.
func TestConnectionToALostNodeOfGaleraIsDropped(t *testing.T) {
	b := mariaDB(testserver.MariaDB(t))
	for _, number := range []int{1047, 1180, 1205} {
		admin, dsn := b.Applied(t)
		db := openMariaDB(t, dsn)
		l := storetest.Assign(t, assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{}))
		storetest.Exec(t, admin, fmt.Sprintf("CREATE TRIGGER FAILS BEFORE UPDATE ON WORKER_LEASE FOR EACH ROW "+
			"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'lost'", number))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := l.Renew(ctx, 1, l.Grant().Limit+1); errors.Is(err, sqlassigner.ErrUnreachable) != (number != 1205) {
			t.Errorf("Renew with error %d: %v, want ErrUnreachable: %v", number, err, number != 1205)
		}
		if n := db.Stats().OpenConnections; n != 0 {
			t.Errorf("%d connections are kept after error %d", n, number)
		}
	}
}

// Such a node works alone, and gives out the worker IDs of its cluster again.
func TestNodeThatHasJoinedNoClusterIsAFault(t *testing.T) {
	_, dsn := mariaDB(testserver.MariaDB(t, "--wsrep-on=ON")).Applied(t)
	storetest.CheckUndurable(t, openMariaDB(t, dsn+"?wsrep_sync_wait=15"),
		`wsrep_on=ON and wsrep_cluster_state_uuid="" (allowed: the UUID of a cluster; the node has joined none: correct `+
			"wsrep_provider and wsrep_cluster_address)")
}
