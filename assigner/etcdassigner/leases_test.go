package etcdassigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Handles are on the leader and on the followers, and each member is killed.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := namespaces(t, testserver.EtcdCluster(t, 3)...)
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

// A page has 1,000 rows.
func TestListReturnsTheRowsOfAllFoldersAndPages(t *testing.T) {
	client := connect(t, testserver.Etcd(t).DSN())
	stores.ListHasAllFolders(t, etcdassigner.LeaseStore(client, namespace), 1100, "", etcdassigner.LeaseStore(client, namespace+"0"))
}
