package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const leaseToken = "0123456789abcdef"

// Clients lose their connections, and the servers are killed. Two processes of the service offer
// the leases of one database; clients begin with different ones.
func TestLeasesOverHTTPWithstandFaults(t *testing.T) {
	t.Parallel()
	tokens, database := filepath.Join(t.TempDir(), "lease-tokens"), testserver.MariaDB(t)
	write(t, tokens, "edge "+leaseToken)
	start := func(address string) *child {
		return serve(t, "--store=mysql://root@"+database.Addr()+"/uidring?timeout=1s", "--leases=remote", "--lease-tokens="+tokens, "--listen="+address)
	}
	servers := []*child{start(testserver.FreeAddr(t)), start(testserver.FreeAddr(t))}
	db, err := sqlassigner.OpenMySQL(database.DSN())
	testkit.Close(t, db, err)
	store := func(urls ...string) leasestore.Store {
		return remoteassigner.LeaseStore(urls, "remote", remoteassigner.Config{Token: leaseToken})
	}
	var handles atomic.Int64
	assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { // the namespace of all cases, one after the other
		for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
			_, err := db.ExecContext(t.Context(), "DELETE FROM "+table+" WHERE NAMESPACE = 'remote'")
			testkit.Must(t, err)
		}
		return assignertest.StoreFixture{
			Handle: func() leasestore.Store {
				i := handles.Add(1) % 2
				return store(servers[i].url(), servers[1-i].url())
			},
			Through: func(w *assignertest.Wire) leasestore.Store { return store("http://" + w.Proxy(t, servers[0].address)) },
			Kill: func(*testing.T) {
				for i, c := range servers {
					c.Kill()
					servers[i] = start(c.address)
				}
			},
			Unreachable: remoteassigner.ErrUnreachable,
		}
	})
}

// A token for IDs is none for leases, and the other way round. A namespace that is not offered,
// and a service without leases, have no route. Both files are read again.
func TestLeasesHaveTheirOwnTokens(t *testing.T) {
	takesTime(t)
	const idToken = "id-0123456789abcdef"
	cfg, log := testConfig(t)
	cfg.TokenFile, cfg.LeaseTokenFile = filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "lease-tokens")
	cfg.Leases = []string{"test", "other"}
	write(t, cfg.TokenFile, "shop "+idToken)
	write(t, cfg.LeaseTokenFile, "edge "+leaseToken)
	r := ready(t, cfg, log)
	status := func(r *running, token, namespace string) error {
		_, err := remoteassigner.LeaseStore([]string{r.url()}, namespace, remoteassigner.Config{Token: token}).Status(t.Context())
		return err
	}
	for _, tt := range []struct{ token, namespace, want string }{
		{leaseToken, "test", ""}, {leaseToken, "other", ""}, {leaseToken, "third", "404"},
		{idToken, "test", "401"}, {"", "test", "401"}, {"", "third", "401"}, {leaseToken + "0", "test", "401"},
	} {
		if err := status(r, tt.token, tt.namespace); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("token %q, namespace %s: %v, want %q", tt.token, tt.namespace, err, tt.want)
		}
	}
	if got, _, err := getAs(http.DefaultClient, leaseToken, r.adminURL()+"/metrics"); got != http.StatusUnauthorized {
		t.Errorf("metrics with the token for leases: status %d, %v; want 401", got, err)
	}
	_, text, err := getAs(http.DefaultClient, idToken, r.adminURL()+"/metrics")
	for _, line := range []string{`uidring_http_requests_total{code="401",route="/v1/leases/{namespace}/{method}"} 4`,
		`uidring_token_requests_total{code="200",token="edge"} 2`, `uidring_token_requests_total{code="401",token="(missing)"} 2`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in, %v\n%s", line, err, text)
		}
	}
	replace(t, cfg.LeaseTokenFile, "edge next-0123456789abcdef\n")
	testkit.Until(t, "the new token", func() bool { return status(r, "next-0123456789abcdef", "test") == nil })
	if err := status(r, leaseToken, "test"); err == nil {
		t.Error("a token that is gone is accepted")
	}
	replace(t, cfg.LeaseTokenFile, "edge "+idToken+"\n")
	testkit.Until(t, "a warning", func() bool {
		record := log.find("lease-tokens loaded")
		return record != nil && strings.Contains(record["contents"].(string), "share a token")
	})
	replace(t, cfg.TokenFile, "short x\n")
	testkit.Until(t, "a refusal", func() bool { return log.find("tokens not loaded, the old contents stay in use") != nil })
	if code, text, err := getAs(http.DefaultClient, idToken, r.url()+"/v1/id"); code != http.StatusOK {
		t.Errorf("after a file with mistakes: %d %s %v", code, text, err)
	}
	if text := log.String(); strings.Contains(text, "0123456789abcdef") {
		t.Errorf("a token is in the log:\n%s", text)
	}
	cfg, log = testConfig(t)
	if err := status(ready(t, cfg, log), "", "test"); err == nil || !strings.Contains(err.Error(), `404 Not Found: "There is nothing under this path; see /openapi.json."; start the server with --leases`) {
		t.Errorf("a service without leases: %v, want advice", err)
	}
}
