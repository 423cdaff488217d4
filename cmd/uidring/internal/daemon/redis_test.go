package daemon

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// redisClient returns a client of the Redis protocol of a service, which closes with the test.
func redisClient(t *testing.T, log *logbook, options redis.Options) *redis.Client {
	t.Helper()
	poll.Until(t, "a listener", func() bool { return log.find("listening for the Redis protocol") != nil })
	options.Addr = log.find("listening for the Redis protocol")["address"].(string)
	options.MaxRetries, options.ReadTimeout = -1, patience
	c := redis.NewClient(&options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRedisProtocolHasTheTLSAndTokensOfTheService(t *testing.T) {
	cfg, log := testConfig(t)
	config := encrypt(t, &cfg)
	cfg.TokenFile = filepath.Join(t.TempDir(), "tokens")
	cfg.RedisListen, cfg.Segments, cfg.MaxBatch = "127.0.0.1:0", []string{"orders"}, 100
	write(t, cfg.TokenFile, "shop 0123456789abcdef")
	r := ready(t, cfg, log)
	good := redisClient(t, log, redis.Options{TLSConfig: config, Username: "shop", Password: "0123456789abcdef"})
	if ids, err := good.Do(t.Context(), "UID.NEXT", 100).Int64Slice(); len(ids) != 100 || err != nil {
		t.Errorf("%d IDs, %v", len(ids), err)
	}
	poll.Until(t, "a range of the segment", func() bool { return good.Incr(t.Context(), "orders").Err() == nil })
	if _, err := good.Do(t.Context(), "UID.NEXT", 101).Result(); err == nil || !strings.Contains(err.Error(), "allowed: 1 to 100") {
		t.Errorf("above max-batch: %v", err)
	}
	for name, bad := range map[string]redis.Options{
		"without TLS":     {Username: "shop", Password: "0123456789abcdef", DialTimeout: time.Second},
		"without a token": {TLSConfig: config},
		"wrong token":     {TLSConfig: config, Password: "0123456789abcdeF"},
	} {
		if err := redisClient(t, log, bad).Do(t.Context(), "UID.NEXT").Err(); err == nil {
			t.Errorf("%s: an ID", name)
		}
	}
	_, metrics, err := getAs(clients(t, config)["HTTP/1.1"], "0123456789abcdef", "https://"+r.address+"/metrics")
	for _, want := range []string{
		`uidring_redis_commands_total{code="ok",command="uid.next"} 1`, `uidring_redis_commands_total{code="bad-request",command="uid.next"} 1`,
		`uidring_redis_command_duration_seconds_count{command="uid.next"} `, "uidring_redis_connections ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s: %v", want, err)
		}
	}
}

// Without its store the service goes on for the window, then refuses, and goes on when the store
// is back.
func TestRedisProtocolWithoutTheStore(t *testing.T) {
	t.Parallel()
	database := testserver.MariaDB(t)
	cfg, log := testConfig(t)
	cfg.StoreURL, cfg.RedisListen = "mysql://root@"+database.Addr()+"/uidring?timeout=1s", "127.0.0.1:0"
	cfg.Lease.Window = time.Second
	ready(t, cfg, log)
	c := redisClient(t, log, redis.Options{})
	var all idset.Set
	draw := func() error {
		ids, err := c.Do(t.Context(), "UID.NEXT", 10_000).Int64Slice()
		all.Once(t, ids...)
		return err
	}
	if err := draw(); err != nil {
		t.Error(err)
	}
	database.Kill9()
	var err error
	poll.Until(t, "the end of the window", func() bool {
		err = draw()
		return err != nil
	})
	if !strings.HasPrefix(err.Error(), "NOLEASE The store of worker IDs has not renewed the lease.") {
		t.Errorf("without the store: %v, want NOLEASE", err)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	database.Restart()
	poll.Until(t, "IDs", func() bool { return draw() == nil })
	if all.Len() < 20_000 {
		t.Errorf("%d IDs", all.Len())
	}
}

// A service that is told to end answers the commands that it has received. IDs of two services do
// not meet.
func TestRedisProtocolEndsInOrder(t *testing.T) {
	t.Parallel()
	store := "--store=sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db")
	children := []*child{serve(t, store, "--redis-listen=127.0.0.1:0"), serve(t, store, "--redis-listen=127.0.0.1:0")}
	var all idset.Set
	var group sync.WaitGroup
	for i := range 6 {
		c := redisClient(t, children[i%2].log, redis.Options{PoolSize: 1, Protocol: 2 + i/3})
		group.Go(func() {
			for {
				replies, err := c.Pipelined(context.Background(), func(p redis.Pipeliner) error {
					p.Do(t.Context(), "UID.NEXT", 1000)
					p.Do(t.Context(), "UID.NEXT", 10)
					return nil
				})
				for _, reply := range replies {
					ids, _ := reply.(*redis.Cmd).Int64Slice()
					all.Once(t, ids...)
				}
				if err != nil {
					return
				}
			}
		})
	}
	poll.Until(t, "IDs", func() bool { return all.Len() > 200_000 })
	for _, c := range children {
		c.terminate()
		if record := c.log.find("Redis connections were cut off"); record != nil {
			t.Errorf("log: %v", record)
		}
	}
	group.Wait()
}

func TestMistakesInRedisListenAreReported(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		"6379":                `redis-listen "6379", allowed: host:port`,
		":6379":               "redis-listen :6379 can be reached from other hosts, and has no tokens",
		taken.Addr().String(): "redis-listen " + taken.Addr().String() + ": listen tcp",
	} {
		cfg, _ := testConfig(t)
		cfg.RedisListen = address
		s, err := New(cfg)
		if err == nil {
			err = s.Run(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("redis-listen %s: %v, want %q", address, err, want)
		}
	}
}
