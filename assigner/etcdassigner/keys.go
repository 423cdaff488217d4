package etcdassigner

import (
	"fmt"

	"github.com/uidring/uidring/assigner"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// metas begins the keys of the meta rows of all namespaces, and of nothing else.
const metas = "uidring/meta/"

// metaKey is in lower case, so that two names that differ in letter case only have one meta row.
// The row has the name itself.
func (l *leases) metaKey() string { return metas + assigner.FoldNamespace(l.namespace) }

// workers begins the keys of rows.
func (l *leases) workers() string { return "uidring/worker/" + l.namespace + "/" }

// rowKey pads the worker ID with zeros: the order of the keys is the order of the worker IDs.
func (l *leases) rowKey(workerID int64) string { return fmt.Sprintf("%s%019d", l.workers(), workerID) }

// seenKey has the time of the last write.
func (l *leases) seenKey() string { return "uidring/seen/" + l.namespace }

// end is the key behind all that begin with prefix.
func end(prefix string) string { return clientv3.GetPrefixRangeEnd(prefix) }
