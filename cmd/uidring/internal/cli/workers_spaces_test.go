package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

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
	wants(t, "", []string{"workers", "namespaces", "--store", "file:///ids"}, exitUsage, "",
		"uidring: --store file:///ids, allowed: a store of several namespaces, which a folder is not\n")
}

func TestNodes(t *testing.T) {
	for name, at := range databases {
		t.Run(name, func(t *testing.T) {
			st, err := storeurl.Open(at(t), "orders")
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			type listed struct {
				Left  *int64
				Nodes []node
			}
			if got := decode[listed](t, quietly(t, "workers", "nodes", "--json")); got.Left != nil || len(got.Nodes) != 0 {
				t.Errorf("%+v of an empty table", got)
			}
			for range 3 {
				g, err := cached.New(cached.Config{Assigner: sqlassigner.Disposable(st.DB(), sqlassigner.Config{})})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
			}
			got := decode[listed](t, quietly(t, "workers", "nodes", "--json", "--count", "2"))
			if got.Left == nil || *got.Left != 1<<17-1-3 || len(got.Nodes) != 2 || got.Nodes[0].Worker != 3 || got.Nodes[1].Worker != 2 ||
				got.Nodes[0].Type != 2 || got.Nodes[0].Host == "" || !strings.HasPrefix(got.Nodes[0].Started, "20") {
				t.Errorf("%+v, want the last two of three, and those left", got)
			}
			if out := quietly(t, "workers", "nodes"); !strings.HasPrefix(out, "LEFT  131068\n\nWORKER  HOST ") || strings.Count(out, " host ") != 3 {
				t.Errorf("printed\n%s", out)
			}
			st.DB().MustExecContext(t.Context(), "DROP TABLE WORKER_NODE_PIN")
			if out := quietly(t, "workers", "nodes"); !strings.HasPrefix(out, "LEFT  unknown: no layout can be read from WORKER_NODE_PIN\n") {
				t.Errorf("printed\n%s", out)
			}
			if code, _, err := run(t, "", "workers", "nodes", "--table", "missing"); code != exitFailure || !strings.Contains(err, ": read missing: ") {
				t.Errorf("exit code %d, %s", code, err)
			}
		})
	}
	wants(t, "", []string{"workers", "nodes", "--table", "a b", "--count", "0"}, exitUsage, "",
		"uidring: --table \"a b\" --count 0, allowed: a name of letters, digits and _, and 1 or more\n")
	wants(t, "", []string{"workers", "nodes", "--store", "redis://127.0.0.1:1/0"}, exitUsage, "",
		"uidring: --store redis://127.0.0.1:1/0, allowed: the URL of an SQL database, sqlite:, mysql: or postgres:\n")
}

// A service whose user may not create tables names the way out.
func TestServeNamesTheWayOutWithoutTheRightToCreate(t *testing.T) {
	clean(t)
	url := mariaDBWith(t, "SELECT, INSERT, UPDATE")
	code, _, stderr := run(t, "", "serve", "--store", url, "--listen", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(stderr, "uidring schema --apply, and create-schema=false") || strings.Contains(stderr, "sesame") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
