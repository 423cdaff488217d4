package redisassigner

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// SegmentConfig configures a [SegmentSource].
type SegmentConfig struct {
	// AllowUndurable accepts a server that may forget ranges, which are then issued twice: one with
	// the faults of the package documentation, or with replicas, which a failover may promote
	// before they have all writes.
	AllowUndurable bool
}

// SegmentSource returns a source for package segment that keeps its counters in the hash
// {uidring}:segment, one field each, in the format of package kvassigner:
//
//	orders, err := segment.New(segment.Config{Name: "orders", Source: redisassigner.SegmentSource(client, redisassigner.SegmentConfig{})})
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen. The
// source accepts the same clients as [LeaseStore]; the client must connect to the primary.
//
// Unlike leases, ranges have no quarantine that makes up for lost writes. Each call therefore
// checks the server, and returns [leasestore.ErrNotDurable] unless the server stands alone and
// syncs its append-only file with each write. After a failover, or a restore of its files, call
// [segment.Recover] before any process uses the counter.
//
// Any number of goroutines may use the source at once.
func SegmentSource(client redis.UniversalClient, cfg SegmentConfig) segment.Source {
	s := &store{client}
	return &counters{s, kvassigner.SegmentSource(s, kvassigner.SegmentConfig{}), cfg}
}

type counters struct {
	store  *store
	source segment.Source
	cfg    SegmentConfig
}

// Advance checks the server first, if the client is allowed.
func (c *counters) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if c.store.Check(name) == nil {
		if err := c.durable(ctx); err != nil {
			return segment.Range{}, fmt.Errorf("redisassigner: %v: %w", c.store, err)
		}
	}
	return c.source.Advance(ctx, name, n)
}

// durable returns an error for a server that may forget ranges.
func (c *counters) durable(ctx context.Context) error {
	_, faults, facts, err := c.store.look(ctx)
	if err != nil {
		return err
	}
	if replicas := facts["connected_slaves"]; replicas != "0" {
		faults = append(faults, "connected_slaves="+replicas+" (allowed: 0): a failover loses writes")
	}
	if len(faults) == 0 || c.cfg.AllowUndurable {
		return nil
	}
	return fmt.Errorf("%w: the server has %s: it may forget ranges and hand them out again; correct that, "+
		"or set SegmentConfig.AllowUndurable", leasestore.ErrNotDurable, strings.Join(faults, ", "))
}
