package redisassigner_test

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testserver"
)

// A consumer draws IDs from a generator of its own until ctx ends.
type consumer struct {
	drawn atomic.Int64
	ids   []int64
}

func (c *consumer) run(ctx context.Context, t *testing.T, g *cached.Generator) {
	defer g.Close()
	for ctx.Err() == nil {
		id, err := g.NextContext(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("NextContext: %v", err)
			}
			return
		}
		c.ids = append(c.ids, id)
		c.drawn.Add(1)
	}
}

// Sentinel replaces a primary whose last writes no replica has: the new primary has forgotten
// renewals that the old one acknowledged. The generators go on, and issue no ID twice.
func TestNoIDTwiceAfterAFailoverThatLostRenewals(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	replica := testserver.RedisReplica(t, primary, "--enable-debug-command", "local")
	sentinel := testserver.RedisSentinel(t, primary)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "uidring", SentinelAddrs: []string{sentinel.Addr()}, ContextTimeoutEnabled: true,
	})
	defer client.Close()
	cfg := quick()
	cfg.AllowUndurable = true // the replica acknowledges nothing

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var consumers [3]consumer
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i := range consumers {
		wg.Go(func() {
			g, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(redisassigner.LeaseStore(client, namespace), cfg)})
			if err != nil {
				t.Error(err)
				return
			}
			consumers[i].run(ctx, t, g)
		})
	}
	everyoneDraws := func(n int64) {
		t.Helper()
		var before [len(consumers)]int64
		for i := range consumers {
			before[i] = consumers[i].drawn.Load()
		}
		await(t, func() bool {
			for i := range consumers {
				if consumers[i].drawn.Load() < before[i]+n {
					return false
				}
			}
			return true
		})
	}
	everyoneDraws(1)
	loseWrites(t, primary, replica)
	await(t, func() bool {
		role, err := connect(t, options(replica.Addr())).Do(t.Context(), "ROLE").Slice()
		return err == nil && role[0] == "master"
	})
	// A grant on Redis reaches a window ahead, so all generators have a new one then.
	const perSecond = 8192
	everyoneDraws(2 * perSecond * int64(cfg.Window/time.Second))
	cancel()
	wg.Wait()
	seen := make(map[int64]bool)
	for i := range consumers {
		for _, id := range consumers[i].ids {
			if seen[id] {
				t.Fatalf("ID %d was issued twice", id)
			}
			seen[id] = true
		}
	}
}

// loseWrites cuts the replica off, and kills the primary after it has acknowledged a further write.
func loseWrites(t *testing.T, primary, replica *testserver.Server) {
	t.Helper()
	from, to := connect(t, options(primary.Addr())), connect(t, options(replica.Addr()))
	read := func(c *redis.Client) map[string]string {
		rows, err := c.HGetAll(t.Context(), hash).Result()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	asleep := make(chan error)
	go func() { asleep <- to.Do(t.Context(), "DEBUG", "SLEEP", "2.5").Err() }()
	await(t, func() bool { // the replica sleeps: it cannot connect again
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return to.Ping(ctx).Err() != nil
	})
	if n, err := from.ClientKillByFilter(t.Context(), "TYPE", "replica").Result(); n != 1 || err != nil {
		t.Fatalf("%d connections to replicas ended: %v", n, err)
	}
	before := read(from)
	await(t, func() bool { return !maps.Equal(before, read(from)) })
	last := read(from)
	primary.Kill9()
	if err := <-asleep; err != nil {
		t.Fatal(err)
	}
	if maps.Equal(last, read(to)) {
		t.Fatal("the replica has the last write: nothing is lost")
	}
}
