package respapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/cmd/uidring/internal/conns"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/recorder"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// client returns a client of go-redis, which closes with the test.
func client(t *testing.T, options redis.Options) *redis.Client {
	t.Helper()
	options.ReadTimeout, options.MaxRetries = patience, -1
	c := redis.NewClient(&options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ids draws n IDs.
func ids(ctx context.Context, c redis.Cmdable, n int) (drawn []int64, err error) {
	return c.(*redis.Client).Do(ctx, "UID.NEXT", n).Int64Slice()
}

// Several clients of go-redis, with RESP2 and RESP3, with and without tokens, draw IDs one by
// one, in pipelines and in batches. No ID comes twice, and the IDs of a connection increase.
func TestClientsOfGoRedis(t *testing.T) {
	for _, needsToken := range []bool{false, true} {
		cfg, options := httpapi.Config{}, redis.Options{ClientName: "orders"}
		if needsToken {
			cfg.Tokens = newTokens(t, "shop "+token)
			options.Username, options.Password = "shop", token
		}
		s := newServer(t, conns.Config{}, cfg)
		options.Addr = listen(t, s, nil)
		var all idset.Set
		var group sync.WaitGroup
		for i := range 6 {
			options := options
			options.Protocol, options.PoolSize = 2+i%2, 1
			c := client(t, options)
			group.Go(func() {
				var mine []int64
				for range 20 {
					id, err := c.Do(t.Context(), "UID.NEXT").Int64()
					if err != nil {
						t.Error(err)
						return
					}
					mine = append(mine, id)
					batch, err := ids(t.Context(), c, 200)
					if err != nil || len(batch) != 200 {
						t.Errorf("%d IDs, %v", len(batch), err)
						return
					}
					mine = append(mine, batch...)
					replies, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
						for range 100 {
							p.Do(t.Context(), "UID.NEXT")
						}
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
					for _, reply := range replies {
						id, err := reply.(*redis.Cmd).Int64()
						if err != nil {
							t.Error(err)
						}
						mine = append(mine, id)
					}
				}
				if !slices.IsSorted(mine) {
					t.Error("the IDs of a connection do not increase")
				}
				all.Once(t, mine...)
			})
		}
		group.Wait()
		if want := 6 * 20 * 301; all.Len() != want {
			t.Errorf("%d IDs, want %d", all.Len(), want)
		}
		c := client(t, options)
		for want := range int64(3) {
			if got, err := c.Incr(t.Context(), "orders").Result(); got != want+1 || err != nil {
				t.Errorf("Incr: %d, %v; want %d", got, err, want+1)
			}
		}
		if got := testutil.ToFloat64(s.metrics.commands.WithLabelValues("uid.next", "ok")); got != 6*20*102 {
			t.Errorf("%v commands in the metrics, want %d", got, 6*20*102)
		}
		if got := testutil.ToFloat64(s.metrics.connections); got < 7 {
			t.Errorf("%v connections in the metrics, want 7 at least", got)
		}
	}
}

func TestRedisCLI(t *testing.T) {
	program := testserver.Program(t, "redis-cli", "redis-tools")
	s := newServer(t, conns.Config{}, httpapi.Config{Tokens: newTokens(t, "shop "+token)})
	host, port, _ := net.SplitHostPort(listen(t, s, nil))
	cli := func(input string, args ...string) []string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"-h", host, "-p", port}, args...)...)
		cmd.Env = []string{"REDISCLI_AUTH=" + token, "LANG=C"}
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("redis-cli %q: %v\n%s", args, err, out)
		}
		return strings.Fields(string(out))
	}
	for _, args := range [][]string{{"UID.NEXT", "3"}, {"-3", "UID.NEXT", "3"}, {"--user", "shop", "--pass", token, "--no-auth-warning", "UID.NEXT", "3"}} {
		out := cli("", args...)
		if len(out) != 3 {
			t.Errorf("redis-cli %q: %q, want three IDs", args, out)
		}
		for _, word := range out {
			if id, err := strconv.ParseInt(word, 10, 64); err != nil || id <= 0 {
				t.Errorf("redis-cli %q: %q is no ID", args, word)
			}
		}
	}
	if out := cli("PING\nINCR orders\nINCR orders\nGET x\n"); strings.Join(out, " ") != "PONG 1 2 ERR unknown command 'GET'" {
		t.Errorf("redis-cli with a script: %q", out)
	}
}

func TestTokensAreRequired(t *testing.T) {
	var tokens atomic.Pointer[func() httpapi.Tokens]
	set := func(file string) {
		parsed := newTokens(t, file)
		tokens.Store(&parsed)
	}
	set("shop " + token + "\nother other-0123456789abcdef")
	log := new(recorder.Recorder)
	s := newServer(t, conns.Config{}, httpapi.Config{Tokens: func() httpapi.Tokens { return (*tokens.Load())() }, Logger: log.Logger()})
	address := listen(t, s, nil)
	const noAuth, wrong = "-NOAUTH Authentication required.\r\n", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	for sent, want := range map[string]string{
		"UID.NEXT\r\nINCR orders\r\nPING\r\nINFO\r\nCOMMAND\r\nCLIENT SETNAME x\r\nSELECT 0\r\nECHO x\r\n": strings.Repeat(noAuth, 8),
		"AUTH x\r\nPING\r\n":                         wrong + noAuth,
		"AUTH shop " + token + "x\r\nPING\r\n":       wrong + noAuth,
		"AUTH " + token + "\r\nPING\r\n":             "+OK\r\n+PONG\r\n",
		"AUTH shop " + token + "\r\nPING\r\n":        "+OK\r\n+PONG\r\n",
		"AUTH " + token + "\r\nAUTH x\r\nPING\r\n":   "+OK\r\n" + wrong + "+PONG\r\n",
		"HELLO 3 AUTH default x\r\n":                 wrong,
		"QUIT\r\n":                                   "+OK\r\n",
		"FLUSHALL now\r\n":                           "-ERR unknown command 'FLUSHALL'\r\n",
		"*1\r\n$8\r\nFLUSHALL\r\n":                   "-ERR unknown command 'FLUSHALL'\r\n",
		"AUTH\r\nAUTH a b c\r\n":                     strings.Repeat("-ERR wrong number of arguments for 'auth'\r\n", 2),
		"*2\r\n$4\r\nAUTH\r\n$0\r\n\r\nUID.NEXT\r\n": wrong + noAuth,
	} {
		if got := exchange(t, address, sent); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
	if got := exchange(t, address, "HELLO 3\r\n"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called") {
		t.Errorf("HELLO: %q", got)
	}

	// A token that is removed ends its rights at once, on connections that are open.
	kept, removed := client(t, redis.Options{Addr: address, Password: token, PoolSize: 1}), client(t, redis.Options{Addr: address, Password: "other-0123456789abcdef", PoolSize: 1})
	for _, c := range []*redis.Client{kept, removed} {
		if _, err := ids(t.Context(), c, 1); err != nil {
			t.Error(err)
		}
	}
	set("shop " + token)
	if _, err := ids(t.Context(), kept, 1); err != nil {
		t.Error(err)
	}
	if _, err := ids(t.Context(), removed, 1); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH ") {
		t.Errorf("a token that was removed: %v, want NOAUTH", err)
	}
	if got := exchange(t, address, "AUTH other-0123456789abcdef\r\n"); got != wrong {
		t.Errorf("a token that was removed: %q, want %q", got, wrong)
	}

	// Refused tokens are counted and logged as over HTTP.
	if lines := log.Read(); len(lines) != 1 || !strings.Contains(lines[0], "tokens refused") {
		t.Errorf("logged %q, want the refused tokens once", lines)
	}
	scrape := httptest.NewRequest("GET", "/metrics", nil)
	scrape.Header.Set("Authorization", "Bearer "+token)
	metrics := httptest.NewRecorder()
	s.api.Load().ServeHTTP(metrics, scrape)
	for name, n := range map[string]int{"(unknown)": 4, "(missing)": 1, "other": 1} {
		if line := fmt.Sprintf("uidring_token_requests_total{code=\"401\",token=%q} %d\n", name, n); !strings.Contains(metrics.Body.String(), line) {
			t.Errorf("no %s in\n%s", line, metrics.Body)
		}
	}
}

// A client has five seconds for its token, also if it has always begun the next command.
func TestClientWithoutATokenIsCutOff(t *testing.T) {
	s := newServer(t, conns.Config{}, httpapi.Config{Tokens: newTokens(t, "shop "+token)})
	synctest.Test(t, func(t *testing.T) {
		client, raw := net.Pipe()
		go func() {
			newConn(s, raw).serve()
			_ = raw.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		began := time.Now()
		for _, sent := range append([]string{"AU"}, slices.Repeat([]string{"TH x\r\nAU"}, 60)...) {
			if _, err := io.WriteString(client, sent); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > loginTimeout+time.Second {
			t.Errorf("connected for %v, allowed: %v", took, loginTimeout)
		}
		_ = client.Close()
	})
}

// The limit is the one of the token's name, over HTTP and over this protocol.
func TestLimitsAreThoseOfTheAPI(t *testing.T) {
	s := newServer(t, conns.Config{}, httpapi.Config{Tokens: newTokens(t, "shop "+token+"\nother other-0123456789abcdef"), MaxBatch: 100, Rate: 1, Burst: 100})
	address := listen(t, s, nil)
	shop := client(t, redis.Options{Addr: address, Password: token})
	if _, err := ids(t.Context(), shop, 100); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := ids(t.Context(), shop, 100); err == nil || !strings.HasPrefix(err.Error(), "TOOMANYREQUESTS 100 may be drawn after ") {
			t.Errorf("after the burst: %v, want TOOMANYREQUESTS", err)
		}
	}
	if err := shop.Ping(t.Context()).Err(); err != nil {
		t.Errorf("PING after the burst: %v", err)
	}
	if _, err := ids(t.Context(), client(t, redis.Options{Addr: address, Password: "other-0123456789abcdef"}), 100); err != nil {
		t.Errorf("another name: %v", err)
	}
	if got := testutil.ToFloat64(s.metrics.commands.WithLabelValues("uid.next", "too-many-requests")); got != 2 {
		t.Errorf("%v refusals in the metrics, want 2", got)
	}
}

// Connections with a command under way keep their places, and one more is told so. An idle one
// makes room.
func TestConnectionsAreLimited(t *testing.T) {
	const places, reserved = 16, 2
	s := newServer(t, conns.Config{Max: places, Logger: slog.New(slog.DiscardHandler)}, httpapi.Config{})
	address := listen(t, s, nil)
	var held []net.Conn
	for range places - reserved {
		conn := dial(t, address)
		if _, err := io.WriteString(conn, "PI"); err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	ping := func() string { return exchange(t, address, "PING\r\n") }
	poll.Until(t, "a full server", func() bool { return ping() == "-ERR max number of clients reached\r\n" })
	if got := testutil.ToFloat64(s.metrics.commands.WithLabelValues("other", "too-many-connections")); got < 1 {
		t.Errorf("%v refused connections in the metrics", got)
	}
	for _, conn := range held {
		reply := make([]byte, 7)
		if _, err := io.WriteString(conn, "NG\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != "+PONG\r\n" {
			t.Errorf("a connection with a command under way: %q, %v", reply, err)
		}
	}
	poll.Until(t, "a place", func() bool { return ping() == "+PONG\r\n" })
}

// Before the worker ID is there, clients are told to wait, and clients that wait are served then.
func TestServerThatLoads(t *testing.T) {
	ready := newServer(t, conns.Config{}, httpapi.Config{})
	s := New(conns.New(conns.Config{Max: 10, Logger: ready.logger}), ready.logger)
	address := listen(t, s, nil)
	conn := dial(t, address)
	if got := exchange(t, address, "PING\r\nAUTH x\r\nQUIT\r\n"); got != strings.Repeat("-LOADING A worker ID is being taken.\r\n", 2)+"+OK\r\n" {
		t.Errorf("before: %q", got)
	}
	s.Open(ready.api.Load())
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 7)
	if _, err := conn.Read(reply); err != nil || string(reply) != "+PONG\r\n" {
		t.Errorf("after: %q, %v", reply, err)
	}
}

// Shutdown answers commands under way, and does not wait for clients that do nothing.
func TestShutdown(t *testing.T) {
	s := newServer(t, conns.Config{}, httpapi.Config{})
	address := listen(t, s, nil)
	idle, stuck := dial(t, address), dial(t, address)
	if _, err := stuck.Write([]byte("UID.NEXT 100000\r\nUID.NEXT 100000\r\nUID.NEXT 100000\r\n")); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a command", func() bool { return testutil.ToFloat64(s.metrics.connections) == 2 })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the idle connection: %d bytes, %v", n, err)
	}
	if got := testutil.ToFloat64(s.metrics.connections); got != 0 {
		t.Errorf("%v connections after Shutdown", got)
	}
}
