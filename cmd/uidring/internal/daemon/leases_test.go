package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testgen"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const leaseToken = "0123456789abcdef"

// lessors are processes of the service that offer the leases of one database.
type lessors struct {
	t         *testing.T
	database  *testserver.Server
	db        *sqlx.DB
	args      []string
	processes []*child
	handles   atomic.Int64
}

func startLessors(t *testing.T, n int) *lessors {
	tokens := filepath.Join(t.TempDir(), "lease-tokens")
	write(t, tokens, "edge "+leaseToken)
	l := &lessors{t: t, database: testserver.MariaDB(t)}
	l.args = []string{"--store=mysql://root@" + l.database.Addr() + "/uidring?timeout=1s", "--leases=remote", "--lease-tokens=" + tokens}
	for range n {
		l.processes = append(l.processes, serve(t, append(slices.Clone(l.args), "--listen="+testserver.FreeAddr(t))...))
	}
	db, err := sqlassigner.OpenMySQL(l.database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	l.db = db
	return l
}

// store returns the store of a new client. Clients begin with different servers.
func (l *lessors) store() assigner.Store {
	cfg := remoteassigner.Config{Token: leaseToken}
	for i := range l.processes {
		cfg.URLs = append(cfg.URLs, l.processes[(i+int(l.handles.Load()))%len(l.processes)].url())
	}
	l.handles.Add(1)
	return remoteassigner.LeaseStore(cfg, "remote")
}

// Clients lose their connections, and the servers are killed.
func TestLeasesOverHTTPWithstandFaults(t *testing.T) {
	t.Parallel()
	l := startLessors(t, 2)
	assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { // the namespace of all cases, one after the other
		for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
			if _, err := l.db.ExecContext(t.Context(), "DELETE FROM "+table+" WHERE NAMESPACE = 'remote'"); err != nil {
				t.Fatal(err)
			}
		}
		return assignertest.StoreFixture{
			Handle: l.store,
			Through: func(w *assignertest.Wire) assigner.Store {
				url := "http://" + w.Proxy(t, l.processes[0].address)
				return remoteassigner.LeaseStore(remoteassigner.Config{URLs: []string{url}, Token: leaseToken}, "remote")
			},
			Kill: func(*testing.T) {
				for i, c := range l.processes {
					c.Kill()
					l.processes[i] = serve(l.t, append(slices.Clone(l.args), "--listen="+c.address)...)
				}
			},
			Unreachable: remoteassigner.ErrUnreachable,
		}
	})
}

// Leases on a store that may lose writes are quarantined through a server, too. The cases run side
// by side: each has a server of its own, which goes down, and a namespace of one Redis.
func TestLeasesOverHTTPOnLossyStoreConform(t *testing.T) {
	t.Parallel()
	database := redis.NewClient(&redis.Options{Addr: testserver.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = database.Close() })
	handler := remoteassigner.NewHandler(func(namespace string) assigner.Store { return redisassigner.LeaseStore(database, namespace) })
	var namespaces atomic.Int64
	assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("case-", namespaces.Add(1))
		const meta = "{uidring}:meta"
		rows := "{uidring}:worker/" + name
		server := httptest.NewServer(handler)
		t.Cleanup(func() { server.Close() })
		url, address := server.URL, server.Listener.Addr().String()
		store := func(name string) assigner.Store {
			return remoteassigner.LeaseStore(remoteassigner.Config{URLs: []string{url}}, name)
		}
		return assignertest.StoreFixture{
			Starts: 4, // each lease must be renewed a few seconds after its claim, also on a busy machine
			Handle: func() assigner.Store { return store(name) },
			Other:  store,
			Delete: func(t *testing.T, workerID int64) {
				hash, field := fmt.Sprintf("%s/%016d", rows, workerID/1000), fmt.Sprintf("%03d", workerID%1000)
				if n, err := database.HDel(t.Context(), hash, field).Result(); n != 1 || err != nil {
					t.Fatalf("%d rows deleted: %v", n, err)
				}
			},
			Clear: func(t *testing.T) {
				_, errMeta := database.HDel(t.Context(), meta, name).Result()
				n, err := database.Del(t.Context(), rows, rows+"/0000000000000000").Result()
				if err := errors.Join(errMeta, err); n != 2 || err != nil {
					t.Fatalf("%d keys deleted: %v", n, err)
				}
			},
			Down: func(t *testing.T) (up func()) {
				server.Close()
				return func() {
					l, err := net.Listen("tcp", address)
					if err != nil {
						t.Error(err)
						return
					}
					server = &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
					server.Start()
				}
			},
		}
	})
}

// Generators with remote leases share a namespace with the service itself. The service is killed
// under load and comes back: the generators go on within their leases, and renew them.
func TestLeasesOverHTTPIssueNoIDTwice(t *testing.T) {
	t.Parallel()
	store := "--store=sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db")
	launch := func(address string) *child {
		return serve(t, store, "--leases=default", "--window=2s", "--listen="+address)
	}
	server := launch(testserver.FreeAddr(t))
	leases := remoteassigner.LeaseStore(remoteassigner.Config{URLs: []string{server.url()}}, "default")
	var all idset.Set
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := server.url()
	var generators []*cached.Generator
	for i := range 3 {
		numbers := assigner.Leased(leases, assigner.LeaseConfig{Window: 2 * time.Second, Owner: fmt.Sprint("edge ", i)})
		g := testgen.Cached(t, cached.Config{Assigner: numbers})
		generators = append(generators, g)
		group.Go(func() {
			ids := make([]int64, 1000)
			for ctx.Err() == nil {
				for j := range ids {
					id, err := g.NextContext(ctx)
					if err != nil && ctx.Err() == nil {
						t.Errorf("generator %d: %v", i, err)
					}
					if err != nil {
						ids = ids[:j]
						break
					}
					ids[j] = id
				}
				all.Once(t, ids...)
			}
		})
	}
	edge := serve(t, "--store="+url) // a service without a database of its own
	for _, from := range []string{url, edge.url()} {
		c := &crowd{t: t, issued: &all, servers: func() []string { return []string{from} }, failed: func(string, time.Time, time.Time, error) {}}
		c.draw(1)
		defer c.end()
	}
	renewals := func() (sum int64) {
		for _, g := range generators {
			sum += g.Stats().Limit
		}
		return sum
	}
	for range 3 {
		limit, issued := renewals(), all.Len()
		poll.Until(t, "renewals", func() bool { return renewals() > limit+3 && all.Len() > issued+100_000 })
		server.Kill()
		server = launch(server.address)
	}
	limit := renewals()
	poll.Until(t, "renewals", func() bool { return renewals() > limit+3 })
	cancel()
	group.Wait()
	edge.terminate()
	workers := map[int64]bool{}
	for _, g := range generators {
		workers[g.WorkerID()] = true
		if err := g.Close(); err != nil { // while the server is there
			t.Error(err)
		}
	}
	if len(workers) != len(generators) || workers[int64(server.worker())] {
		t.Errorf("workers %v of the generators, the service had %d; want different ones", workers, server.worker())
	}
	t.Logf("%d IDs", all.Len())
}

// A token for IDs is none for leases, and the other way round. A namespace that is not offered,
// and a service without leases, have no route.
func TestLeasesHaveTheirOwnTokens(t *testing.T) {
	const idToken = "id-0123456789abcdef"
	cfg, log := testConfig(t)
	cfg.TokenFile, cfg.LeaseTokenFile = filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "lease-tokens")
	cfg.Leases = []string{"test", "other"}
	write(t, cfg.TokenFile, "shop "+idToken)
	write(t, cfg.LeaseTokenFile, "edge "+leaseToken)
	r := ready(t, cfg, log)
	status := func(token, namespace string) error {
		cfg := remoteassigner.Config{URLs: []string{"http://" + r.address}, Token: token}
		_, err := remoteassigner.LeaseStore(cfg, namespace).Status(t.Context())
		return err
	}
	for _, tt := range []struct{ token, namespace, want string }{
		{leaseToken, "test", ""}, {leaseToken, "other", ""}, {leaseToken, "third", "404"},
		{idToken, "test", "401"}, {"", "test", "401"}, {"", "third", "401"}, {leaseToken + "0", "test", "401"},
	} {
		if err := status(tt.token, tt.namespace); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("token %q, namespace %s: %v, want %q", tt.token, tt.namespace, err, tt.want)
		}
	}
	if record := log.find("tokens refused"); record["last_token"] != "(unknown)" || record["last_path"] != "/v1/leases/test/status" {
		t.Errorf("logged %v, want the first refused token", record)
	}
	client := clients(t, nil)["HTTP/1.1"]
	for token, want := range map[string]int{leaseToken: http.StatusUnauthorized, idToken: http.StatusOK} {
		got, text, err := getAs(client, token, r.adminURL()+"/metrics")
		if got != want {
			t.Errorf("token %q: status %d, %v; want %d", token, got, err, want)
		}
		for _, line := range []string{`uidring_http_requests_total{code="401",route="/v1/leases/{namespace}/{method}"} 4`,
			`uidring_token_requests_total{code="200",token="edge"} 2`, `uidring_token_requests_total{code="401",token="(missing)"} 2`} {
			if want == http.StatusOK && !strings.Contains(text, line) {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
	}
	replace(t, cfg.LeaseTokenFile, "edge next-0123456789abcdef\n")
	poll.Until(t, "the new token", func() bool { return status("next-0123456789abcdef", "test") == nil })
	if err := status(leaseToken, "test"); err == nil {
		t.Error("a token that is gone is accepted")
	}
	replace(t, cfg.TokenFile, "short x\n")
	poll.Until(t, "a refusal", func() bool { return log.find("tokens not loaded, the old contents stay in use") != nil })
	if code, text, err := getAs(client, idToken, r.url()+"/v1/id"); code != http.StatusOK {
		t.Errorf("after a file with mistakes: %d %s %v", code, text, err)
	}
	if text := log.String(); strings.Contains(text, "0123456789abcdef") {
		t.Errorf("a token is in the log:\n%s", text)
	}

	cfg, log = testConfig(t)
	r = ready(t, cfg, log)
	if err := status("", "test"); err == nil || !strings.Contains(err.Error(), "start the server with --leases") {
		t.Errorf("a service without leases: %v, want advice", err)
	}
}

func TestLeasesRefuseMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lease-tokens")
	write(t, file, "edge "+leaseToken)
	for _, tt := range []struct {
		change func(*Config)
		want   string // "": no error
	}{
		{func(c *Config) { c.Leases = []string{"a b"} }, `leases: assigner: namespace "a b", allowed: 1 to 64`},
		{func(c *Config) { c.Leases = []string{"a", "a"} }, `leases has "a" twice, allowed: once`},
		{func(c *Config) { c.Leases = strings.Split("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", ",") }, "leases has 17 names, allowed: up to 16"},
		{func(c *Config) { c.LeaseTokenFile = file }, "lease-tokens without leases, allowed: both"},
		{func(c *Config) { c.Leases, c.TokenFile = []string{"a"}, file }, "leases without lease-tokens, allowed: on an address of this host only"},
		{func(c *Config) { c.Leases, c.Listen = []string{"a"}, ":0" }, "leases without lease-tokens"},
		{func(c *Config) {
			c.Leases, c.StoreURL = []string{"test", "b"}, "file://"+filepath.Dir(file)
		}, `leases has "b", allowed: "test" alone`},
		{func(c *Config) { c.Leases, c.Listen, c.Insecure = []string{"a"}, ":0", true }, ""},
		{func(c *Config) { c.Leases, c.LeaseTokenFile = []string{"a"}, file }, ""},
		{func(c *Config) { c.Leases = []string{"a"} }, ""},
	} {
		cfg, _ := testConfig(t)
		tt.change(&cfg)
		s, err := New(cfg)
		if err == nil {
			s.closeStore()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New: %v, want %q", err, tt.want)
		}
	}
}
