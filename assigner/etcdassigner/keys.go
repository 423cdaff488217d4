package etcdassigner

import (
	"fmt"

	"github.com/uidring/uidring/assigner"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// metas is the prefix of the keys of all meta rows, and of no other keys.
const metas = "uidring/meta/"

// metaKey has the name in lower case, so that two names that differ only in letter case share a
// meta row. The row has the exact name.
func (l *leases) metaKey() string { return metas + assigner.FoldNamespace(l.namespace) }

// workers is the prefix of the keys of rows.
func (l *leases) workers() string { return "uidring/worker/" + l.namespace + "/" }

// rowKey pads the worker ID with zeros, so that keys sort by worker ID.
func (l *leases) rowKey(workerID int64) string { return fmt.Sprintf("%s%019d", l.workers(), workerID) }

// seenKey is the key of the time of the last write.
func (l *leases) seenKey() string { return "uidring/seen/" + l.namespace }

// lifeKey is the key of the life of the cluster.
func (l *leases) lifeKey() string { return "uidring/life/" + l.namespace }

// end returns the first key after all keys with a prefix.
func end(prefix string) string { return clientv3.GetPrefixRangeEnd(prefix) }
