package etcdassigner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A member that was added and does not run makes the other one a minority.
func TestLeaseStoreWithoutAMajorityIsAnError(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	stores.Create(t, s, stores.Sample(), time.Hour)
	if _, err := client.MemberAdd(t.Context(), []string{"http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Get(t.Context(), workers+"0000000000000004/007", clientv3.WithSerializable()); err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("the member by itself: %v, %v", answer, err)
	}
	for i, err := range stores.EveryCall(t.Context(), t, s, 200*time.Millisecond) {
		if err == nil {
			t.Errorf("call %d succeeded without a majority", i)
		}
	}
}

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
	server := testserver.Etcd(t)
	admin := connect(t, server.DSN())
	enableAuth(t, admin)
	cfg := config(server.DSN())
	cfg.Username, cfg.Password = "ids", "hunter2"
	client, err := clientv3.New(cfg)
	testkit.Close(t, client, err)
	if err := errors.Join(stores.EveryCall(t.Context(), t, etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{}), time.Minute)...); err != nil {
		t.Errorf("with the permission that the documentation names: %v", err)
	}
	about := "kvassigner: etcd at " + server.DSN() + ": "
	if _, err := etcdassigner.LeaseStore(client, "another", etcdassigner.Config{}).Load(t.Context(), 7); err == nil || !strings.Contains(err.Error(), about) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("another namespace: %v, want permission denied", err)
	}
	stores.Fail(t, etcdassigner.LeaseStore(admin, namespace, etcdassigner.Config{}), about, "user name is empty")
	stores.Fail(t, etcdassigner.LeaseStore(nil, "a/b", etcdassigner.Config{}), "client is required", `"a/b"`)
}

// enableAuth makes the users root and ids, who has the permission that the documentation names.
func enableAuth(t *testing.T, admin *clientv3.Client) {
	t.Helper()
	ctx := t.Context()
	var errs []error
	for _, user := range []string{"root", "ids"} {
		_, err1 := admin.UserAdd(ctx, user, "hunter2")
		_, err2 := admin.RoleAdd(ctx, user)
		_, err3 := admin.UserGrantRole(ctx, user, user)
		errs = append(errs, err1, err2, err3)
	}
	for _, p := range []struct {
		key, end string
		kind     clientv3.PermissionType
	}{
		{"uidring/meta/", clientv3.GetPrefixRangeEnd("uidring/meta/"), clientv3.PermissionType(clientv3.PermRead)},
		{metaKey, "", clientv3.PermissionType(clientv3.PermReadWrite)},
		{seenKey, "", clientv3.PermissionType(clientv3.PermReadWrite)},
		{workers, clientv3.GetPrefixRangeEnd(workers), clientv3.PermissionType(clientv3.PermReadWrite)},
	} {
		_, err := admin.RoleGrantPermission(ctx, "ids", p.key, p.end, p.kind)
		errs = append(errs, err)
	}
	_, err := admin.AuthEnable(ctx)
	testkit.Must(t, errors.Join(append(errs, err)...))
}
