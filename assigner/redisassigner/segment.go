package redisassigner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// segmentsKey is the key of a hash with the largest ID given out for each counter.
const segmentsKey = root + "segments"

// SegmentConfig configures a [SegmentSource].
type SegmentConfig struct {
	// AllowUndurable accepts a server that may forget ranges, which are then issued twice: one with
	// the faults of the package documentation, or with replicas, which a failover may promote
	// before they have all writes.
	AllowUndurable bool
}

// SegmentSource returns a source for package segment that keeps its counters in the hash
// {uidring}:segments, one field each:
//
//	orders, err := segment.New(segment.Config{Name: "orders", Source: redisassigner.SegmentSource(client, redisassigner.SegmentConfig{})})
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen. The
// source accepts the same clients as [LeaseStore]; the client must connect to the primary. A call
// that the client retries wastes a range.
//
// Unlike leases, ranges have no quarantine that makes up for lost writes. Each call therefore
// checks the server, and returns [leasestore.ErrNotDurable] unless the server stands alone and
// syncs its append-only file with each write. After a failover, or a restore of its files, call
// [segment.Recover] before any process uses the counter.
//
// Any number of goroutines may use the source at once.
func SegmentSource(client redis.UniversalClient, cfg SegmentConfig) segment.Source {
	return &counters{store{client}, cfg}
}

type counters struct {
	store
	cfg SegmentConfig
}

func (c *counters) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if err := c.check(ctx, name, n); err != nil {
		return segment.Range{}, err
	}
	last, err := c.client.HIncrBy(ctx, segmentsKey, name, n).Result()
	switch {
	case err != nil && strings.Contains(err.Error(), "overflow"):
		return segment.Range{}, fmt.Errorf("%w: hash %s: counter %q: allowed: 1 to %d: %w", segment.ErrExhausted, segmentsKey, name, int64(math.MaxInt64), err)
	case err != nil:
		return segment.Range{}, c.explain(ctx, fmt.Sprintf("advance counter %q", name), err)
	}
	return segment.Range{First: last - n + 1, Last: last, Delta: 1}, nil
}

// check checks the arguments and the server.
func (c *counters) check(ctx context.Context, name string, n int64) error {
	if err := c.Check(name); err != nil {
		return err
	}
	if err := leasestore.CheckNamespace(name); err != nil {
		return fmt.Errorf("redisassigner: counter: %w", err)
	}
	if n < 1 {
		return fmt.Errorf("redisassigner: %d IDs of counter %q, allowed: 1 or more", n, name)
	}
	_, faults, facts, err := c.look(ctx)
	if err != nil {
		return c.explain(ctx, "read the status", err)
	}
	if replicas := facts["connected_slaves"]; replicas != "0" {
		faults = append(faults, "connected_slaves="+replicas+" (allowed: 0): a failover loses writes")
	}
	if len(faults) == 0 || c.cfg.AllowUndurable {
		return nil
	}
	return fmt.Errorf("%w: hash %s: the server has %s: it may forget ranges and hand them out again; correct that, "+
		"or set SegmentConfig.AllowUndurable", leasestore.ErrNotDurable, segmentsKey, strings.Join(faults, ", "))
}

func (c *counters) explain(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("redisassigner: %v: cannot %s: %w", &c.store, what, err)
}
