package etcdassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns the store of a namespace, see [kvassigner.LeaseStore]. The keys are
//
//   - uidring/meta/orders, the meta row; the name is in lower case here;
//   - uidring/worker/orders/0000000000000004/007, the row of worker 4,007;
//   - uidring/seen/orders, the time of the last write.
//
// The keys have no etcd lease and are never deleted.
//
// The store returns an error when a write may have taken effect, and does not retry it. The caller
// closes the client. Without a deadline a call may wait for a server as long as the client does.
func LeaseStore(client *clientv3.Client, namespace string, _ Config) leasestore.Store {
	return kvassigner.LeaseStore(&store{client: client}, namespace, kvassigner.Config{})
}

// root begins all keys.
const root = "uidring/"

// A store is a KV. A majority of the members confirms each of its reads.
type store struct {
	client  *clientv3.Client
	fits    atomic.Bool   // the server is new enough for the client
	cluster atomic.Uint64 // the ID of the cluster that answered the last read
}

func (s *store) Check(string) error {
	if s.client == nil {
		return errors.New("etcdassigner: client is required")
	}
	return nil
}

// String names the store in errors and log records: a client without a connection only reports a
// timeout.
func (s *store) String() string { return "etcd at " + strings.Join(s.client.Endpoints(), ", ") }

// Passes reports errors while no server answers, or the cluster has no leader or too much to do.
func (s *store) Passes(err error) bool {
	answer, _ := errors.AsType[rpctypes.EtcdError](err)
	return slices.Contains([]codes.Code{codes.Unavailable, codes.ResourceExhausted}, cmp.Or(answer.Code(), status.Code(err)))
}

// errOld is the error for a client that hangs after a restart of its server: etcd 3.4 checks the
// token of a request for a new token, and the client answers that refusal with the same request.
var errOld = errors.New("etcd 3.4 or older, with a user and a password: the client would not find back after a restart of a member, " +
	"allowed: etcd 3.5 or later, or a client certificate instead of the password")

// read checks the server before the first read: etcd 3.4 does not know AuthStatus, which later
// releases deny to most users.
func (s *store) read(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if s.client.Username != "" && !s.fits.Load() {
		_, err := s.client.AuthStatus(ctx)
		if status.Code(err) == codes.Unimplemented {
			if _, err = s.client.Authenticate(ctx, s.client.Username, s.client.Password); !errors.Is(err, rpctypes.ErrAuthNotEnabled) {
				return nil, errOld
			}
			err = nil
		}
		s.fits.Store(err == nil || errors.Is(err, rpctypes.ErrPermissionDenied))
	}
	answer, err := s.client.Get(ctx, key, opts...)
	if err == nil {
		s.cluster.Store(answer.Header.ClusterId)
	}
	return answer, err
}

func (s *store) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	answer, err := s.read(ctx, root+key)
	if err != nil || len(answer.Kvs) == 0 {
		return nil, "", err
	}
	return answer.Kvs[0].Value, strconv.FormatInt(answer.Kvs[0].ModRevision, 10), nil
}

func (s *store) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	found, _ := strconv.ParseInt(revision, 10, 64) // a result of Get, or 0 for "": the key is missing
	answer, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(root+key), "=", found)).
		Then(clientv3.OpPut(root+key, string(value))).
		Commit()
	if errors.Is(err, rpctypes.ErrNoSpace) {
		err = fmt.Errorf("%w; compact and defragment etcd, or raise --quota-backend-bytes, then run etcdctl alarm disarm", err)
	}
	if err != nil {
		return false, err
	}
	if last, id := s.cluster.Load(), answer.Header.ClusterId; last != id && last != 0 {
		return false, fmt.Errorf("cluster %x has answered a read, and %x a write, allowed: endpoints of a single cluster", last, id)
	}
	return answer.Succeeded, nil
}

// List reads pages. They come from different revisions.
func (s *store) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	from, end := root+prefix, clientv3.GetPrefixRangeEnd(root+prefix)
	for {
		answer, err := s.read(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(kvassigner.BlockSize))
		if err != nil {
			return nil, err
		}
		for _, kv := range answer.Kvs {
			entries = append(entries, kvassigner.Entry{Key: string(kv.Key), Value: kv.Value})
			from = string(kv.Key) + "\x00"
		}
		if !answer.More {
			return entries, nil
		}
	}
}

// Status reads with confirmation by a majority, which a member that is cut off cannot get. etcd
// does not report its clock.
func (s *store) Status(ctx context.Context) (leasestore.Status, error) {
	answer, err := s.read(ctx, root+"meta/")
	if err != nil {
		return leasestore.Status{}, err
	}
	return leasestore.Status{Identity: fmt.Sprintf("cluster %x", answer.Header.ClusterId)}, nil
}
