package etcdassigner_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestStatusKnowsTheClusterByItsID(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	stores.ItsIdentityStays(t, s, server, "^cluster [0-9a-f]{1,16}$")

	// A snapshot is restored in another cluster.
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		backup, err := client.Get(t.Context(), "uidring/", clientv3.WithPrefix())
		if err != nil || len(backup.Kvs) != 3 {
			t.Fatalf("%d keys, want the meta row, a row and the time: %v", len(backup.Kvs), err)
		}
		restored := connect(t, testserver.Etcd(t).DSN())
		for _, kv := range backup.Kvs {
			if _, err := restored.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
				t.Fatal(err)
			}
		}
		return etcdassigner.LeaseStore(restored, namespace, etcdassigner.Config{})
	})
}

// A restore with the token and the addresses of the old cluster keeps its ID: only Recover keeps
// the next holder above the claim that the snapshot lacks.
func TestRecoverAfterARestoreOfASnapshotWithTheSameClusterID(t *testing.T) {
	etcdctl := testserver.Program(t, "etcdctl", "etcd-client")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(etcdctl, args...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	data := t.TempDir() + "/data"
	server := testserver.Etcd(t, "--data-dir", data)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	assign := func() assigner.Grant {
		t.Helper()
		var l assigner.Lease
		testkit.Succeeds(t, "a claim", func() (err error) {
			l, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
			return err
		})
		testkit.Must(t, l.End(t.Context(), assigner.Ending{Released: true}))
		return l.Grant()
	}
	assign()
	snapshot, known := t.TempDir()+"/snapshot", stores.Status(t, s).Identity
	run("--endpoints", server.DSN(), "snapshot", "save", snapshot)
	lost := assign()
	members, err := client.MemberList(t.Context())
	testkit.Must(t, err)
	server.Stop()
	testkit.Must(t, os.RemoveAll(data))
	peer := members.Members[0].PeerURLs[0]
	run("snapshot", "restore", snapshot, "--data-dir", data, "--name", "n0", "--initial-cluster", "n0="+peer, "--initial-advertise-peer-urls", peer)
	server.Restart()
	if got := stores.Status(t, s).Identity; got != known {
		t.Errorf("identity %q after a restore with the same token and addresses, was %q", got, known)
	}
	testkit.Succeeds(t, "Recover", func() error { return leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Hour}) })
	if next := assign(); next.WorkerID != lost.WorkerID || next.First <= lost.Last {
		t.Errorf("grant %+v after Recover, want deltas above the lost grant %+v", next, lost)
	}
}
