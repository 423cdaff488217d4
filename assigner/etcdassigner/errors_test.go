package etcdassigner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const patience = 30 * time.Second

// A member that was added and does not run makes the other one a minority.
func TestMemberWithoutAMajorityIsAnError(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	stores.Create(t, s, sample(), time.Hour)
	if _, err := client.MemberAdd(t.Context(), []string{"http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Get(t.Context(), rowKey(7), clientv3.WithSerializable()); err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("the member by itself: %v, %v", answer, err)
	}
	for i, err := range stores.EveryCall(t.Context(), s, sample(), 200*time.Millisecond) {
		if err == nil {
			t.Errorf("call %d succeeded without a majority", i)
		}
	}
}

func TestErrorsSayWhatIsWrongWithoutThePassword(t *testing.T) {
	server := testserver.Etcd(t)
	admin := connect(t, server.DSN())
	enableAuth(t, admin)
	as := func(user string) assigner.Store {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.DSN()}, Username: user, Password: "hunter2", Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return etcdassigner.LeaseStore(client, namespace)
	}
	if err := errors.Join(stores.EveryCall(t.Context(), as("ids"), sample(), patience)...); err != nil {
		t.Errorf("with the permission that the documentation names: %v", err)
	}
	for name, s := range map[string]assigner.Store{
		"permission denied":  as("stranger"),
		"user name is empty": etcdassigner.LeaseStore(admin, namespace),
	} {
		for _, err := range stores.EveryCall(t.Context(), s, sample(), patience) {
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "kvassigner: etcd at "+server.DSN()+": ") {
				t.Errorf("%v; want %q and the endpoint, without the password", err, name)
			}
		}
	}
}

// enableAuth makes the users root; ids, who has the permission that the documentation names; and
// stranger.
func enableAuth(t *testing.T, admin *clientv3.Client) {
	t.Helper()
	ctx := t.Context()
	var errs []error
	for _, user := range []string{"root", "ids", "stranger"} {
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
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
}
