package redisassigner_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Sentinel replaces a primary whose last writes no replica has: the new primary has forgotten
// renewals that the old one acknowledged. The generators go on, and issue no ID twice.
func TestLeasedIssuesNoIDTwiceAfterAFailoverThatLostRenewals(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	replica := testserver.RedisReplica(t, primary)
	sentinel := testserver.RedisSentinel(t, primary)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "uidring", SentinelAddrs: []string{sentinel.Addr()}, ContextTimeoutEnabled: true,
	})
	defer client.Close()
	// The replica acknowledges nothing, and the quarantine is short.
	cfg := assigner.LeaseConfig{Window: 2 * time.Second, MaxSkew: time.Second, AllowUndurable: true}

	ctx, cancel := context.WithCancel(t.Context())
	var issued idset.Set
	var drawn [3]atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i := range drawn {
		wg.Go(func() {
			g, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(redisassigner.LeaseStore(client, namespace, redisassigner.Config{}), cfg)})
			if err != nil {
				t.Error(err)
				return
			}
			defer g.Close()
			for {
				id, err := g.NextContext(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("NextContext: %v", err)
					return
				}
				issued.Once(t, id)
				drawn[i].Add(1)
			}
		})
	}
	everyoneDraws := func(n int64) {
		t.Helper()
		for i := range drawn {
			before := drawn[i].Load()
			testkit.Until(t, "all generators issue IDs", func() bool { return drawn[i].Load() >= before+n })
		}
	}
	everyoneDraws(1)
	loseWrites(t, primary, replica)
	admin := connect(t, options(replica.Addr()))
	testkit.Until(t, "the failover", func() bool {
		role, err := admin.Do(t.Context(), "ROLE").Slice()
		return err == nil && role[0] == "master"
	})
	// A grant on Redis reaches a window ahead, so all generators have a new one then.
	const perSecond = 8192
	everyoneDraws(2 * perSecond * int64(cfg.Window/time.Second))
}

// loseWrites cuts the replica off, and kills the primary after it has acknowledged a further write.
func loseWrites(t *testing.T, primary, replica *testserver.Server) {
	t.Helper()
	from, to := connect(t, options(primary.Addr())), connect(t, options(replica.Addr()))
	read := func(c *redis.Client) map[string]string {
		rows, err := c.HGetAll(t.Context(), folders+"/0000000000000000").Result()
		testkit.Must(t, err)
		return rows
	}
	testkit.Must(t, errors.Join(to.ConfigSet(t.Context(), "masteruser", "unknown").Err(), to.ConfigSet(t.Context(), "masterauth", "wrong").Err()))
	testkit.Until(t, "the end of replication", func() bool {
		err := from.ClientKillByFilter(t.Context(), "TYPE", "replica").Err()
		info, errInfo := to.Info(t.Context(), "replication").Result()
		return errors.Join(err, errInfo) == nil && strings.Contains(info, "master_link_status:down")
	})
	before := read(from)
	testkit.Until(t, "a further write", func() bool { return !maps.Equal(before, read(from)) })
	last := read(from)
	primary.Kill9()
	if maps.Equal(last, read(to)) {
		t.Fatal("the replica has the last write: nothing is lost")
	}
}
