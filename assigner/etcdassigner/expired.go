package etcdassigner

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// page is the largest number of rows that a request reads.
const page = 1000

// Expired starts at a random row, so that processes that start at once find different rows, and
// wraps around until it has found n expired rows or has read all rows. The first page has n rows,
// which is enough if all of them are free.
func (l *leases) Expired(ctx context.Context, n int) (found []assigner.Row, err error) {
	start, err := l.anywhere(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, span := range [][2]string{{start, end(l.workers())}, {l.workers(), start}} {
		for row, err := range l.rows(ctx, span[0], span[1], n-len(found)) {
			if err != nil {
				return nil, err
			}
			if len(found) < n && !row.Expires.After(now) {
				found = append(found, row)
			}
			if len(found) >= n {
				return found, nil
			}
		}
	}
	return found, nil
}

// anywhere returns the key of a random worker ID that has been given out.
func (l *leases) anywhere(ctx context.Context) (string, error) {
	meta, err := l.LoadMeta(ctx)
	if err != nil || meta.NextWorkerID <= meta.FirstWorkerID {
		return l.workers(), err
	}
	return l.rowKey(meta.FirstWorkerID + rand.N(meta.NextWorkerID-meta.FirstWorkerID)), nil
}

// rows returns the rows with keys in [from, end), and ends with the first error. It reads pages;
// the first has up to first rows. Pages come from different revisions, which is harmless: rows are
// never deleted, and a claim compares the row that it has read.
func (l *leases) rows(ctx context.Context, from, end string, first int) iter.Seq2[assigner.Row, error] {
	return func(yield func(assigner.Row, error) bool) {
		limit := int64(min(max(first, 1), page))
		for more := from < end; more; limit = page {
			answer, err := l.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(limit))
			if err != nil {
				yield(assigner.Row{}, l.explain(ctx, "list "+l.workers(), err))
				return
			}
			for _, kv := range answer.Kvs {
				r, err := decode[assigner.Row](kv)
				if !yield(r.Value, err) || err != nil {
					return
				}
				from = string(kv.Key) + "\x00"
			}
			more = answer.More
		}
	}
}
