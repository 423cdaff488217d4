package etcdassigner

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// page is how many rows a request reads at most.
const page = 1000

// Expired begins at a random row, so that processes that start at once find different ones, and
// goes round until it has n expired rows or has seen all rows. The first page has n rows: where
// every row is free, Expired reads no others. Where few are free it reads many, and where none is
// free all rows.
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

// anywhere returns the key of a random worker ID among those that have been given out.
func (l *leases) anywhere(ctx context.Context) (string, error) {
	meta, err := l.LoadMeta(ctx)
	if err != nil || meta.NextWorkerID <= meta.FirstWorkerID {
		return l.workers(), err
	}
	return l.rowKey(meta.FirstWorkerID + rand.N(meta.NextWorkerID-meta.FirstWorkerID)), nil
}

// rows returns the rows with keys from one to before another, and ends with the first error. It
// reads them in pages, each as of its own moment; the first page has up to first rows. That is
// enough, since rows are never deleted, and a claim compares the row that it has read.
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
