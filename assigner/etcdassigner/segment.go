package etcdassigner

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/segment"
)

// SegmentConfig configures a [SegmentSource]. It has no options yet: use its zero value.
type SegmentConfig struct{}

// SegmentSource returns a source for package segment that keeps its counters in the keys
// uidring/segment/…, in the format of package kvassigner. The keys have no etcd lease and are never
// deleted.
//
//	orders, err := segment.New(segment.Config{Name: "orders", Source: etcdassigner.SegmentSource(client, etcdassigner.SegmentConfig{})})
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen. After
// a restore of the cluster call [segment.Recover] before any process uses the counter. The caller
// closes the client. Any number of goroutines may use the source at once.
func SegmentSource(client *clientv3.Client, _ SegmentConfig) segment.Source {
	return kvassigner.SegmentSource(&store{client: client}, kvassigner.SegmentConfig{})
}
