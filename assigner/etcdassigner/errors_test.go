package etcdassigner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const patience = 30 * time.Second

// everyCall returns the errors of all methods of a store, each of which has its time.
func everyCall(t *testing.T, s assigner.Store, each time.Duration) (errs []error) {
	t.Helper()
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Status(ctx); return err },
		func(ctx context.Context) error { _, err := s.LoadMeta(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.SwapMeta(ctx, assigner.Meta{}, assigner.Meta{})
			return err
		},
		func(ctx context.Context) error { _, err := s.Load(ctx, 1); return err },
		func(ctx context.Context) error { _, err := s.List(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.Swap(ctx, assigner.Row{}, sample(), time.Hour)
			return err
		},
		func(ctx context.Context) error { _, err := s.Expired(ctx, 1); return err },
		func(ctx context.Context) error { _, err := s.(assigner.Namespaced).Namespaces(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), each)
		errs = append(errs, call(ctx))
		cancel()
	}
	return errs
}

// A member that was added and does not run makes the other one a minority.
func TestMemberWithoutAMajorityIsAnError(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	create(t, s, sample())
	if _, err := client.MemberAdd(t.Context(), []string{"http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Get(t.Context(), rowKey(7), clientv3.WithSerializable()); err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("the member by itself: %v, %v", answer, err)
	}
	for i, err := range everyCall(t, s, 500*time.Millisecond) {
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
	if err := errors.Join(everyCall(t, as("ids"), patience)...); err != nil {
		t.Errorf("with the permission that the documentation names: %v", err)
	}
	for name, s := range map[string]assigner.Store{
		"permission denied":  as("stranger"),
		"user name is empty": etcdassigner.LeaseStore(admin, namespace),
	} {
		for _, err := range everyCall(t, s, patience) {
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), ": etcdassigner: "+server.DSN()+": ") {
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
		{lifeKey, "", clientv3.PermissionType(clientv3.PermReadWrite)},
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
