package redisassigner_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// fill writes rows 0 to n-1 with all that belongs to them: those below free have expired.
func fill(t testing.TB, client *redis.Client, s assigner.Store, n, free int) {
	t.Helper()
	write := func(ttl time.Duration) (text string, expires float64) {
		row, err := s.Load(t.Context(), 0)
		if err == nil {
			_, err = s.Swap(t.Context(), row, assigner.Row{Version: row.Version + 1, Fence: 1, Token: "T", Owner: "host-1 pid 4711"}, ttl)
		}
		text, err1 := client.HGet(t.Context(), hash, "0").Result()
		expires, err2 := client.ZScore(t.Context(), expiry, "0").Result()
		if err := errors.Join(err, err1, err2); err != nil {
			t.Fatal(err)
		}
		return text, expires
	}
	heldText, heldUntil := write(time.Hour)
	freeText, freeSince := write(0)
	const batch = 4096
	for first := 0; first < n; first += batch {
		pipe := client.Pipeline()
		for w := first; w < min(first+batch, n); w++ {
			text, at, field := heldText, heldUntil, strconv.Itoa(w)
			if w < free {
				text, at = freeText, freeSince
			}
			pipe.HSet(t.Context(), hash, field, text)
			pipe.ZAdd(t.Context(), expiry, redis.Z{Score: at, Member: field})
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// pin writes the meta row of a namespace in which the numbers below next have been given out.
func pin(t testing.TB, s assigner.Store, next int64) {
	t.Helper()
	d := assignertest.Domain()
	meta := assigner.Meta{Version: 1, Namespace: "N", Layout: d.Layout, Epoch: d.Epoch, DatacenterID: d.DatacenterID, NextWorkerID: next, Token: "T"}
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Fatalf("create the meta row: %v, %v", ok, err)
	}
}

// metered are options of a client whose connections count the bytes that they read.
func metered(addr string, read *atomic.Int64) *redis.Options {
	opt := options(addr)
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return meteredConn{conn, read}, err
	}
	return opt
}

type meteredConn struct {
	net.Conn
	read *atomic.Int64
}

func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func TestClaimReadsABoundedNumberOfRows(t *testing.T) {
	const rows = 20_000
	for _, tt := range []struct {
		name      string
		free      int
		wantBytes int64 // 256 rows of 250 bytes, the answer of INFO, and as much again
	}{
		{"all are free", rows, 150_000},
		{"one is free", 1, 20_000},
		{"all are held", 0, 20_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := testserver.Redis(t)
			client := connect(t, options(server.Addr()))
			s := redisassigner.LeaseStore(client, namespace)
			fill(t, client, s, rows, tt.free)
			pin(t, s, rows)
			var read atomic.Int64
			counted := redisassigner.LeaseStore(connect(t, metered(server.Addr(), &read)), namespace)
			_, err := assigner.Leased(counted, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
			held, ok := errors.AsType[*assigner.QuarantineError](err)
			if !ok || held.WorkerID >= int64(tt.free) && held.WorkerID != rows || held.WorkerID == rows && tt.free > 0 {
				t.Errorf("Assign: %v; want a claim of one of %d free worker IDs, of %d if there is none", err, tt.free, rows)
			}
			t.Logf("%d bytes", read.Load())
			if read.Load() > tt.wantBytes {
				t.Errorf("a claim read %d bytes, want at most %d", read.Load(), tt.wantBytes)
			}
		})
	}
}

func TestExpiredChoosesTheRowsThatExpiredFirst(t *testing.T) {
	s := redisassigner.LeaseStore(connect(t, options(testserver.Redis(t).Addr())), namespace)
	for w := range int64(20) {
		row := sample()
		row.WorkerID = w
		if ok, err := s.Swap(t.Context(), assigner.Row{}, row, -time.Duration(w%10)*time.Minute); !ok || err != nil {
			t.Fatalf("create: %v, %v", ok, err)
		}
	}
	rows, err := s.Expired(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, row := range rows {
		got = append(got, row.WorkerID)
	}
	slices.Sort(got)
	if want := []int64{8, 9, 18, 19}; !slices.Equal(got, want) {
		t.Errorf("Expired(4) has rows %v, want %v", got, want)
	}
	for _, n := range []int{0, -1} {
		if rows, err := s.Expired(t.Context(), n); len(rows) > 0 || err != nil {
			t.Errorf("Expired(%d) has %d rows, %v; want none", n, len(rows), err)
		}
	}
}

// wantIndexed checks that the sorted set has each row of the hash with its expiry, and nothing
// else.
func wantIndexed(t *testing.T, client *redis.Client, s assigner.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	rows, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := client.ZRangeWithScores(ctx, expiry, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	got, want := make(map[string]float64), make(map[string]float64)
	for _, row := range rows {
		want[strconv.FormatInt(row.WorkerID, 10)] = float64(row.Expires.UnixMicro())
	}
	for _, z := range scores {
		got[z.Member.(string)] = z.Score
	}
	if !maps.Equal(got, want) {
		t.Errorf("the sorted set has %v, the hash has %v", got, want)
	}
}

// Rows and expiries that do not match are the work of operators, or of a key that was lost.
func TestExpiredRepairsTheSetOfExpiries(t *testing.T) {
	const rows, free = 2500, 1250 // more than a page
	held := redis.Z{Member: strconv.Itoa(free)}
	for _, tt := range []struct {
		name  string
		spoil func(ctx context.Context, c *redis.Client) error
		gone  int // rows that are no longer there
	}{
		{"no set", func(ctx context.Context, c *redis.Client) error { return c.Del(ctx, expiry).Err() }, 0},
		{"a row is not in the set", func(ctx context.Context, c *redis.Client) error { return c.ZRem(ctx, expiry, "7").Err() }, 0},
		{"a row is gone", func(ctx context.Context, c *redis.Client) error { return c.HDel(ctx, hash, "7").Err() }, 1},
		{"strangers in the set", func(ctx context.Context, c *redis.Client) error {
			return c.ZAdd(ctx, expiry, redis.Z{Score: 1, Member: "x"}, redis.Z{Score: 2, Member: "99999"}).Err()
		}, 0},
		{"a held row counts as free", func(ctx context.Context, c *redis.Client) error { return c.ZAdd(ctx, expiry, held).Err() }, 0},
		{"as many strangers as rows that are missing", func(ctx context.Context, c *redis.Client) error {
			return cmp.Or(c.ZRem(ctx, expiry, "7").Err(), c.ZAdd(ctx, expiry, redis.Z{Score: 1, Member: "x"}).Err())
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := connect(t, options(testserver.Redis(t).Addr()))
			s := redisassigner.LeaseStore(client, namespace)
			fill(t, client, s, rows, free)
			pin(t, s, rows)
			if err := tt.spoil(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			seen := make(map[int64]bool)
			got, err := s.Expired(t.Context(), 10*rows)
			for _, row := range got {
				seen[row.WorkerID] = row.WorkerID < free
			}
			if want := free - tt.gone; err != nil || len(got) != want || len(seen) != want {
				t.Errorf("%d rows, %d of them different, %v; want %d", len(got), len(seen), err, want)
			}
			wantIndexed(t, client, s)
		})
	}
}

// before calls a func once, before a client sends a command.
type before struct {
	command string
	call    func()
}

func (b *before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if call := b.call; cmd.Name() == b.command && call != nil {
			b.call = nil
			call()
		}
		return next(ctx, cmd)
	}
}

func (b *before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestRepairLeavesWhatASwapHasWritten(t *testing.T) {
	server := testserver.Redis(t)
	client, admin := connect(t, options(server.Addr())), connect(t, options(server.Addr()))
	s, other := redisassigner.LeaseStore(client, namespace), redisassigner.LeaseStore(admin, namespace)
	row := stores.Create(t, other, sample(), time.Hour)
	if err := admin.Del(t.Context(), expiry).Err(); err != nil {
		t.Fatal(err)
	}
	swapped := false
	client.AddHook(&before{"zadd", func() {
		var err error
		if swapped, err = other.Swap(t.Context(), row, row, 24*time.Hour); err != nil {
			t.Error(err)
		}
	}})
	if rows, err := s.Expired(t.Context(), 1); len(rows) > 0 || err != nil || !swapped {
		t.Errorf("Expired: %+v, %v; want none; swapped meanwhile: %v", rows, err, swapped)
	}
	wantIndexed(t, admin, s)
}

func TestExpiredRefusesForeignRecords(t *testing.T) {
	client := connect(t, options(testserver.Redis(t).Addr()))
	s := redisassigner.LeaseStore(client, namespace)
	for field, text := range map[string]string{
		"7": "mine",
		"8": `{"Format":2,"Version":"1","Fence":"1"}`,
		"9": `[]`,
		"x": `{"Written":1,"Format":1,"Swap":"","Version":"1","Fence":"1","TTL":1}`,
	} {
		for _, indexed := range []bool{true, false} {
			err := client.Del(t.Context(), hash, expiry).Err()
			if err == nil {
				err = client.HSet(t.Context(), hash, field, text).Err()
			}
			if err == nil && indexed {
				err = client.ZAdd(t.Context(), expiry, redis.Z{Score: 1, Member: field}).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := s.Expired(t.Context(), 1); err == nil || !strings.Contains(err.Error(), strconv.Quote(field)) {
				t.Errorf("field %s with %s, in the set: %v: %v, %v; want an error that names it", field, text, indexed, rows, err)
			}
		}
	}
}

// The file of a server that crashed may end anywhere. It ends between two scripts as Redis reads
// it.
func TestTruncatedFileKeepsARowAndItsExpiryTogether(t *testing.T) {
	dir := t.TempDir()
	server := testserver.Redis(t, "--dir", dir)
	client := connect(t, options(server.Addr()))
	s := redisassigner.LeaseStore(client, namespace)
	for w := range int64(20) {
		row := sample()
		row.WorkerID = w
		stores.Create(t, s, row, time.Hour)
	}
	var file string
	for _, pattern := range []string{"appendonlydir/*.incr.aof", "appendonly.aof"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) == 1 {
			file = found[0]
		}
	}
	server.Kill9()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shortened := false
	for cut := 20; cut < 800; cut += 97 {
		if err := os.WriteFile(file, content[:len(content)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		server.Restart()
		poll.Until(t, "the server has its data", func() bool { return client.Ping(t.Context()).Err() == nil })
		rows, err := s.List(t.Context())
		if err != nil || len(rows) == 0 || len(rows) >= 20 {
			t.Errorf("%d bytes cut off: %d rows, %v; want 1 to 19", cut, len(rows), err)
		}
		shortened = shortened || len(rows) < 19
		wantIndexed(t, client, s)
		server.Kill9()
	}
	if !shortened {
		t.Error("no more than one row was ever cut off")
	}
	server.Restart()
}

// BenchmarkExpired reads the candidates of a claim from a million rows.
func BenchmarkExpired(b *testing.B) {
	const rows = 1_000_000
	for _, bb := range []struct {
		name string
		free int
	}{{"free", rows}, {"held", 0}} {
		b.Run(bb.name, func(b *testing.B) {
			opt := options(testserver.Redis(b, "--appendfsync", "no").Addr())
			opt.ReadTimeout = time.Minute
			client := redis.NewClient(opt)
			b.Cleanup(func() { _ = client.Close() })
			s := redisassigner.LeaseStore(client, namespace)
			fill(b, client, s, rows, bb.free)
			for b.Loop() {
				if _, err := s.Expired(b.Context(), 256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
