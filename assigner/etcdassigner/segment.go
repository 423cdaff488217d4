package etcdassigner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// SegmentSource returns a source for package segment that keeps its counters in the keys
// uidring/segment/…, as decimal numbers: the largest ID given out. The keys have no etcd lease and
// are never deleted.
//
//	orders, err := segment.New(segment.Config{Name: "orders", Source: etcdassigner.SegmentSource(client)})
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen. After
// a restore of the cluster call [segment.Recover] before any process uses the counter. The caller
// closes the client. Any number of goroutines may use the source at once.
func SegmentSource(client *clientv3.Client) segment.Source {
	c := &counters{client: client}
	if client == nil {
		c.err = errors.New("etcdassigner: client is required")
	}
	return c
}

type counters struct {
	client *clientv3.Client
	err    error // of the argument of SegmentSource
}

// Advance implements segment.Source. It compares revisions, so a transaction that the client sends
// twice takes effect once.
func (c *counters) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if err := c.check(name, n); err != nil {
		return segment.Range{}, err
	}
	key := "uidring/segment/" + name
	answer, err := c.client.Get(ctx, key)
	if err != nil {
		return segment.Range{}, c.explain(ctx, "read "+key, err)
	}
	for kvs := answer.Kvs; ; {
		last, revision := int64(0), int64(0) // of a missing key
		if len(kvs) > 0 {
			revision = kvs[0].ModRevision
			if last, err = strconv.ParseInt(string(kvs[0].Value), 10, 64); err != nil || last < 0 {
				return segment.Range{}, fmt.Errorf("%w: etcdassigner: key %q was not written by this package: %q", segment.ErrInvalidRange, key, kvs[0].Value)
			}
		}
		if n > math.MaxInt64-last {
			return segment.Range{}, fmt.Errorf("%w: key %q of etcd has reached %d, allowed: 1 to %d", segment.ErrExhausted, key, last, int64(math.MaxInt64))
		}
		done, err := c.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, strconv.FormatInt(last+n, 10))).
			Else(clientv3.OpGet(key)).
			Commit()
		switch {
		case err != nil:
			return segment.Range{}, c.explain(ctx, "write "+key, err)
		case done.Succeeded:
			return segment.Range{First: last + 1, Last: last + n, Delta: 1}, nil
		}
		kvs = done.Responses[0].GetResponseRange().Kvs // another process was faster
	}
}

func (c *counters) check(name string, n int64) error {
	if c.err != nil {
		return c.err
	}
	if err := leasestore.CheckNamespace(name); err != nil {
		return fmt.Errorf("etcdassigner: counter: %w", err)
	}
	if n < 1 {
		return fmt.Errorf("etcdassigner: %d IDs of counter %q, allowed: 1 or more", n, name)
	}
	return nil
}

func (c *counters) explain(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("etcdassigner: %s: cannot %s: %w", strings.Join(c.client.Endpoints(), ", "), what, err)
}
