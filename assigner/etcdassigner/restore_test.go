package etcdassigner_test

import (
	"errors"
	"io"
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
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestStatusKnowsTheClusterByItsID(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace)
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
		return etcdassigner.LeaseStore(restored, namespace)
	})
}

// A restore with the token and the addresses of the old cluster keeps its ID: only Recover keeps
// the next holder above the claim that the snapshot lacks.
func TestRecoverAfterARestoreOfASnapshotWithTheSameClusterID(t *testing.T) {
	etcdctl := testserver.Program(t, "etcdctl", "etcd-client")
	data := t.TempDir() + "/data"
	server := testserver.Etcd(t, "--data-dir", data)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	assign := func() assigner.Grant {
		t.Helper()
		var l assigner.Lease
		err := insist(func() (err error) {
			l, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
			return err
		})
		if err == nil {
			err = l.Release(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l.Grant()
	}
	assign()
	snapshot, known := save(t, client), stores.Status(t, s).Identity
	lost := assign()
	members, err := client.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	peer := members.Members[0].PeerURLs[0]
	restore := exec.Command(etcdctl, "snapshot", "restore", snapshot, "--data-dir", data, "--name", "n0",
		"--initial-cluster", "n0="+peer, "--initial-advertise-peer-urls", peer)
	restore.Env = append(os.Environ(), "ETCDCTL_API=3")
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server.Restart()
	if got := stores.Status(t, s).Identity; got != known {
		t.Errorf("identity %q after a restore with the same token and addresses, was %q", got, known)
	}
	if err := insist(func() error { return leasestore.Recover(t.Context(), s, time.Hour) }); err != nil {
		t.Fatal(err)
	}
	if next := assign(); next.WorkerID != lost.WorkerID || next.First <= lost.Limit {
		t.Errorf("grant %+v after Recover, want deltas above the lost grant %+v", next, lost)
	}
}

// save writes a snapshot of the cluster to a file.
func save(t *testing.T, client *clientv3.Client) (path string) {
	t.Helper()
	content, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	file, err := os.Create(t.TempDir() + "/snapshot")
	if err == nil {
		_, err = io.Copy(file, content)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// insist calls f again while the server comes back: a call over a connection that it has ended
// fails once.
func insist(f func() error) (err error) {
	for range 10 {
		if err = f(); err == nil || errors.Is(err, assigner.ErrWorkerRowLost) {
			return err
		}
	}
	return err
}
