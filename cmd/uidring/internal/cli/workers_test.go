package cli

import (
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// sqlite creates the tables of a database with the command, and sets the environment variables that
// select it.
func sqlite(t *testing.T) string {
	t.Helper()
	clean(t)
	url := sqliteURL(t)
	t.Setenv("UIDRING_STORE", url)
	t.Setenv("UIDRING_NAMESPACE", "orders")
	for _, made := range []string{"WORKER_NODE, WORKER_NODE_TOKEN, WORKER_NODE_PIN, WORKER_STICKY, WORKER_LEASE, WORKER_LEASE_META", "no table, since none is missing"} {
		wants(t, "", []string{"schema", "sqlite", "leases", "nodes", "--apply"}, exitOK, url+": created "+made+"\n", "")
	}
	return url
}

// generator starts a generator in the namespace orders.
func generator(t *testing.T, url, owner string, window time.Duration) *cached.Generator {
	t.Helper()
	st, err := storeurl.Open(url, "orders")
	testkit.Close(t, st, err)
	return testgen.Cached(t, cached.Config{Assigner: assigner.Leased(st, assigner.LeaseConfig{Window: window, Owner: owner})})
}

// rowOf returns the row of worker ID 0.
func rowOf(t *testing.T) worker {
	t.Helper()
	return decode[listing](t, quietly(t, "workers", "list", "--json")).Workers[0]
}

func TestRevokePrintsTheOutcome(t *testing.T) {
	generator(t, sqlite(t), "first", time.Minute)
	for _, want := range []string{`worker ID 0 was taken from "first"; others may take it from 20`, "worker ID 0 is revoked already"} {
		if out := quietly(t, "workers", "revoke", "0", "--yes"); !strings.HasPrefix(out, want) {
			t.Errorf("printed %q, want %q", out, want)
		}
	}
}

func TestListPrintsRows(t *testing.T) {
	url := sqlite(t)
	wants(t, "", []string{"workers", "list"}, exitFailure, "", "uidring: namespace \"orders\" of "+url+" has no worker IDs yet; uidring workers namespaces lists all namespaces\n")
	g := generator(t, url, "host\x1b[31m 1", time.Minute) // longer than the test: no renewal meanwhile
	id, err := g.Next()
	testkit.Must(t, err)
	l := decode[listing](t, quietly(t, "workers", "list", "--json"))
	if l.Store != url || l.Namespace != "orders" || l.Layout != "28/5/17/13@1s" || l.Guarantee != "fenced" || l.GivenOut != 1 || len(l.Faults) != 0 ||
		!l.Epoch.Equal(bitsalloc.DefaultEpoch()) || time.Since(l.Now).Abs() > time.Minute || len(l.Workers) != 1 {
		t.Fatalf("%+v", l)
	}
	row := rowOf(t)
	largest, err := strconv.ParseInt(row.Largest, 10, 64)
	if row.State != "held" || row.Owner != "host\x1b[31m 1" || row.Claims != 1 || err != nil || largest < id || !row.Expires.After(l.Now) ||
		row.FenceTime.Sub(bitsalloc.DefaultEpoch()) != time.Duration(row.Fence)*time.Second {
		t.Errorf("%+v, want worker 0 with ID %d", row, id)
	}
	out := quietly(t, "workers", "list")
	for _, want := range []string{"held", `host\x1b[31m 1`, strconv.FormatInt(row.Fence, 10), row.Expires.Format(time.RFC3339), "s left  host"} {
		if !strings.Contains(out, want) || strings.ContainsAny(out, "\x1b\t") {
			t.Errorf("%q is not in, or escapes or tabs in\n%q", want, out)
		}
	}
	testkit.Must(t, g.Close())
	if row := rowOf(t); row.State != "free" {
		t.Errorf("%+v after Close, want it free", row)
	}
	wants(t, "", []string{"workers", "revoke", "0", "--yes"}, exitOK, "worker ID 0 is free already: nothing to do\n", "")
	wants(t, "", []string{"workers", "revoke", "5", "--yes"}, exitFailure, "", "uidring: namespace \"orders\" of "+url+" has no worker ID 5 yet; see uidring workers list\n")
}

// Rows that were created for other processes and never claimed share a line, and JSON has each.
func TestListJoinsRowsThatWereNeverUsed(t *testing.T) {
	url := sqlite(t)
	generator(t, url, "host 1", time.Minute)
	st, err := storeurl.Open(url, "orders")
	testkit.Close(t, st, err)
	var rows []leasestore.Row
	for _, worker := range []int64{1, 2, 3, 5, 6, 8} {
		rows = append(rows, leasestore.Row{WorkerID: worker, Version: 1, Fence: worker / 6})
	}
	rows = append(rows, leasestore.Row{WorkerID: 9, Version: 2, Fence: 1, Owner: "host 2"}) // a released one
	_, err = st.CreateFree(t.Context(), rows, -time.Minute)
	testkit.Must(t, err)
	out := quietly(t, "workers", "list")
	var got []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "free" {
			got = append(got, strings.Join(fields, " "))
		}
	}
	want := []string{"1-3 free 0 - - - - never used", "5 free 0 - - - - never used", "6 free 1 - - - - never used", "8 free 1 - - - - never used"}
	if len(got) != 5 || !slices.Equal(got[:4], want) || !strings.HasSuffix(got[4], "- was host 2") {
		t.Errorf("%q, want %q and a row of host 2 in\n%s", got, want, out)
	}
	l := decode[listing](t, quietly(t, "workers", "list", "--json"))
	// Without a fence, no holder was ever allowed to issue an ID.
	if len(l.Workers) != 8 || l.Workers[4].Largest != "-" || l.Workers[5].Largest == "-" {
		t.Errorf("%+v in JSON, want 8, with the largest ID from worker 6 on", l.Workers)
	}
}

// list works for a namespace whose worker IDs WORKER_NODE has assigned as well. It names the reason
// why the store assigns no more of them.
func TestListNamesAnOverlap(t *testing.T) {
	url := sqlite(t)
	generator(t, url, "host 1", time.Minute)
	db, err := sqlx.Open("sqlite", strings.TrimPrefix(url, "sqlite://"))
	testkit.Close(t, db, err)
	db.MustExecContext(t.Context(), "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) "+
		"VALUES ('10.0.0.1', '1', 2, '2026-01-01', '2026-01-01', '2026-01-01')")
	if l := decode[listing](t, quietly(t, "workers", "list", "--json")); len(l.Workers) != 1 || !strings.Contains(l.Overlap, "WORKER_NODE has given out the worker IDs up to 1") {
		t.Errorf("%+v, want a worker and the overlap", l)
	}
	if out := quietly(t, "workers", "list"); !strings.Contains(out, "OVERLAP") || !strings.Contains(out, "host 1") {
		t.Errorf("no overlap or no worker in\n%s", out)
	}
}

func TestChangesNeedAYes(t *testing.T) {
	url := sqlite(t)
	g := generator(t, url, "holder", 2*time.Second)
	before := rowOf(t)
	for args, consequence := range map[string]string{
		"workers revoke 0": `takes worker ID 0 of namespace "orders" from "holder", which has to take another one`,
		"workers recover --ahead 1h": `raises the fences of all 1 worker IDs of namespace "orders" by 1h0m0s, even if they were raised before, ` +
			"and takes 1 of the worker IDs from their holders",
	} {
		wants(t, "y\n", strings.Fields(args), exitUnconfirmed, "", "uidring: not confirmed, nothing was changed: this "+consequence+"; pass --yes to confirm\n")
	}
	after := rowOf(t)
	if after.Claims != before.Claims || after.State != "held" || g.WorkerID() != 0 {
		t.Errorf("%+v, was %+v", after, before)
	}
}

func TestRecoverRaisesFences(t *testing.T) {
	url := sqlite(t)
	g := generator(t, url, "before", time.Minute)
	last, err := g.Next()
	testkit.Must(t, err)
	before := rowOf(t)
	if out := quietly(t, "workers", "recover", "--ahead", "1h", "--yes"); out != "1 fences of namespace \"orders\" raised by 1h0m0s\n" {
		t.Errorf("printed %q", out)
	}
	after := rowOf(t)
	if after.Fence < before.Fence+3600 || after.State != "free" {
		t.Errorf("%+v, was %+v, want its fence raised by an hour", after, before)
	}
	next := generator(t, url, "after", time.Minute)
	if id, err := next.Next(); err != nil || id <= last {
		t.Errorf("ID %d, %v, want one above %d", id, err, last)
	}
}

func TestHorizonPrintsAnID(t *testing.T) {
	g := generator(t, sqlite(t), "host 1", 2*time.Second)
	first, err := g.Next()
	testkit.Must(t, err)
	horizon := func() int64 {
		id, err := strconv.ParseInt(decode[struct{ Horizon string }](t, quietly(t, "workers", "horizon", "--json")).Horizon, 10, 64)
		testkit.Must(t, err)
		return id
	}
	testkit.Until(t, "horizon above the first ID", func() bool { return horizon() > first })
	out := quietly(t, "workers", "horizon")
	if id, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64); err != nil || id <= first || id > horizon() || rowOf(t).Oldest == 0 {
		t.Errorf("printed %q, want an ID above %d, and the oldest delta of the holder in the list", out, first)
	}
}

// PostgreSQL's driver prints each address on its own indented line. Open logs in to NATS and
// etcd; a failure of that is not a usage error, after which systemd would not start serve again.
func TestServerThatDoesNotAnswerIsOneLineWithoutThePassword(t *testing.T) {
	clean(t)
	for _, row := range [][3]string{
		{"workers revoke 1 --yes", "mysql://ids:sesame@127.0.0.1:1/ids", "database unreachable"},
		{"workers recover --ahead 1h --yes", "mysql://ids:sesame@127.0.0.1:1/ids", "--timeout allows 200ms"},
		{"workers list", "postgres://ids:sesame@127.0.0.1:1/ids", "uidring: postgres://127.0.0.1:1/ids: sqlassigner: database unreachable: "},
		{"workers list", "nats://ids:sesame@127.0.0.1:1/ids", "uidring: store: nats URL: cannot log in at 127.0.0.1:1: "},
		{"serve --listen=127.0.0.1:0 --admin-listen=127.0.0.1:0", "etcd://ids:sesame@127.0.0.1:1", "store: etcd URL: cannot log in at 127.0.0.1:1"},
	} {
		t.Setenv("UIDRING_STORE", row[1])
		args := strings.Fields(row[0])
		if args[0] != "serve" {
			args = append(args, "--timeout", "200ms")
		}
		code, out, err := run(t, "", args...)
		if code != exitFailure || out != "" || !strings.Contains(err, row[2]) || strings.Count(err, "\n") != 1 || strings.ContainsAny(err, "\t\r") ||
			strings.Contains(err, "sesame") {
			t.Errorf("uidring %s with %s: exit code %d, stdout %q, stderr %q, want %q", row[0], row[1], code, out, err, row[2])
		}
	}
}

func TestNamespaces(t *testing.T) {
	url := sqlite(t)
	wants(t, "", []string{"workers", "namespaces"}, exitOK, "none\n", "")
	generator(t, url, "host 1", time.Minute)
	list := decode[listing](t, quietly(t, "workers", "list", "--json"))
	got := decode[struct{ Namespaces []space }](t, quietly(t, "workers", "namespaces", "--json"))
	if len(got.Namespaces) != 1 || got.Namespaces[0] != (space{"orders", "28/5/17/13@1s", list.Epoch, 0, 1, 1<<17 - 1}) || list.Left != 1<<17-1 {
		t.Errorf("%+v, list has %d left", got, list.Left)
	}
	wants(t, "", []string{"workers", "namespaces"}, exitOK, `
NAMESPACE  LAYOUT         EPOCH                 DATACENTER  GIVEN OUT  LEFT
orders     28/5/17/13@1s  2026-01-01T00:00:00Z  0           1          131071
`, "")
	folder := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	_, err := folder.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{Version: 1})
	testkit.Must(t, err)
	server := httptest.NewServer(remoteassigner.NewHandler(func(string) leasestore.Store { return folder }))
	t.Cleanup(server.Close)
	code, out, stderr := run(t, "", "workers", "namespaces", "--store", server.URL)
	if code != exitUsage || out != "" || !strings.Contains(stderr, "--store "+server.URL+", allowed: a store of several namespaces, which a folder is not") {
		t.Errorf("of a folder behind a server: exit code %d, %q, %s", code, out, stderr)
	}
}

// A service whose user may not create tables names the way out.
func TestServeNamesTheWayOutWithoutTheRightToCreate(t *testing.T) {
	clean(t)
	url := mariaDBURL(t, "SELECT, INSERT, UPDATE")
	code, _, stderr := run(t, "", "serve", "--store", url, "--listen", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(stderr, "run uidring schema mysql leases | mysql your_database; create-schema=false") || strings.Contains(stderr, "sesame") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestSchemaPrintsTables(t *testing.T) {
	clean(t)
	for kind, want := range map[string]string{"mysql": "ENGINE", "postgres": "timestamptz", "sqlite": "AUTOINCREMENT"} {
		if out := quietly(t, "schema", kind, "leases", "nodes"); !strings.Contains(out, "CREATE TABLE IF NOT EXISTS WORKER_LEASE") || !strings.Contains(out, want) {
			t.Errorf("schema %s has no %q:\n%s", kind, want, out)
		}
	}
}
