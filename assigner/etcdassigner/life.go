package etcdassigner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A life is the time of a cluster between two restores of a snapshot. A restore with the same token
// and addresses keeps the ID of the cluster, but it starts the Raft log anew and keeps the
// revision. Each entry of the log raises the index by one and the revision by one at most, so the
// lead of the index over the revision never falls, except in a restore.
type life struct {
	Name string // random
	Lead int64  // when the life was noticed, or less
}

// identity returns the ID of the cluster and the name of its life, which it changes after a
// restore. The key holds the life.
func identity(ctx context.Context, client *clientv3.Client, key string) (string, error) {
	for {
		answer, err := client.Get(ctx, key)
		if err != nil {
			return "", err
		}
		var known life
		revision := int64(0)
		if len(answer.Kvs) > 0 {
			revision = answer.Kvs[0].ModRevision
			if err := json.Unmarshal(answer.Kvs[0].Value, &known); err != nil {
				return "", fmt.Errorf("key %s was not written by this package: %w", key, err)
			}
		}
		least, most, err := lead(ctx, client, answer.Header.Revision)
		if err != nil {
			return "", err
		}
		if revision > 0 && most >= known.Lead {
			return fmt.Sprintf("cluster %x life %s", answer.Header.ClusterId, known.Name), nil
		}
		text, err := json.Marshal(life{rand.Text(), least})
		if err != nil {
			return "", err
		}
		_, err = client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).Then(clientv3.OpPut(key, string(text))).Commit()
		if err != nil {
			return "", err
		}
	}
}

// lead returns bounds of the lead of the index over the revision, in a state of a member that has
// the revision. It asks until a member has answered twice: one answer is not a snapshot, and the
// members of a cluster take turns.
func lead(ctx context.Context, client *clientv3.Client, revision int64) (least, most int64, err error) {
	members := pb.NewMaintenanceClient(client.ActiveConnection())
	first := make(map[uint64]*pb.StatusResponse)
	for ctx.Err() == nil {
		answer, err := members.Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return 0, 0, err
		}
		if answer.Header.Revision < revision { // a member that lags
			time.Sleep(time.Millisecond)
			continue
		}
		if earlier, ok := first[answer.Header.MemberId]; ok {
			return int64(earlier.RaftAppliedIndex) - answer.Header.Revision, int64(answer.RaftIndex) - earlier.Header.Revision, nil
		}
		first[answer.Header.MemberId] = answer
	}
	return 0, 0, ctx.Err()
}
