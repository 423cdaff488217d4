package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// drawSegment draws n IDs of a segment, which must increase. It asks again where the store needs
// longer for a range than a request waits.
func drawSegment(t *testing.T, r *running, client *http.Client, name string, n int) (ids []int64) {
	t.Helper()
	var status int
	var body string
	var err error
	poll.Until(t, "a range", func() bool {
		status, body, err = get(client, fmt.Sprintf("http://%s/v1/segments/%s?n=%d", r.address, name, n))
		return !strings.Contains(body, "#no-range")
	})
	var answer struct{ IDs []string }
	if err == nil {
		err = json.Unmarshal([]byte(body), &answer)
	}
	if err != nil || status != http.StatusOK {
		t.Errorf("segment %s: %d, %v: %s\n%s", name, status, err, body, r.log)
		return nil
	}
	for _, text := range answer.IDs {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Error(err)
		}
		ids = append(ids, id)
	}
	if len(ids) != n || !slices.IsSorted(ids) {
		t.Errorf("segment %s: %d IDs, in order: %v; want %d", name, len(ids), slices.IsSorted(ids), n)
	}
	return ids
}

// Two services with one store share its counters, and a service that starts later continues them.
func TestSegmentsAreSharedOnEveryStore(t *testing.T) {
	for name, open := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + testserver.DiskFolder(t) + "/ids.db" },
		"folder":     func(t *testing.T) string { return "file://" + testserver.DiskFolder(t) },
		"MariaDB":    func(t *testing.T) string { return "mysql://root@" + testserver.MariaDB(t).Addr() + "/uidring" },
		"PostgreSQL": func(t *testing.T) string { return testserver.PostgreSQL(t).DSN() },
		"Redis":      func(t *testing.T) string { return testserver.Redis(t).DSN() },
		"etcd":       func(t *testing.T) string { return "etcd://" + testserver.Etcd(t).Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storeURL := open(t)
			launch := func() *running {
				cfg, log := testConfig(t)
				cfg.StoreURL, cfg.Segments = storeURL, []string{"orders", "invoices", "unused"}
				cfg.Lease.Window, cfg.Lease.MaxSkew = time.Second, time.Second // bounds the quarantine of Redis
				return ready(t, cfg, log)
			}
			first, second := launch(), launch()
			var issued idset.Set
			drawAll := func(services ...*running) {
				var group sync.WaitGroup
				for _, r := range services {
					for _, client := range clients(t, nil) {
						group.Go(func() {
							for _, n := range []int{1, 10, 3000} {
								issued.Once(t, drawSegment(t, r, client, "orders", n)...)
							}
						})
					}
				}
				group.Wait()
			}
			drawAll(first, second)
			if ids := drawSegment(t, first, clients(t, nil)["HTTP/1.1"], "invoices", 3); !slices.Equal(ids, []int64{1, 2, 3}) {
				t.Errorf("invoices are %v, want a counter of its own from 1", ids)
			}
			first.stop()
			if err := first.wait(t); err != nil {
				t.Error(err)
			}
			drawAll(second, launch())
		})
	}
}

func TestSegmentsRefuseMistakes(t *testing.T) {
	cfg, _ := testConfig(t)
	cfg.Segments = []string{"orders", "a b", "", "orders"}
	for i := range 61 {
		cfg.Segments = append(cfg.Segments, fmt.Sprint(i))
	}
	_, err := New(cfg)
	for _, want := range []string{`"a b", allowed: 1 to 64`, `"", allowed: 1 to 64`, `segments has "orders" twice, allowed: once`, "segments has 65 names, allowed: up to 64"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v\nwant %s in it", err, want)
		}
	}
}
