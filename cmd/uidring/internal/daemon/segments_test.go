package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

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
			var issued idset.Set
			drawAll := func(services ...*running) {
				var group sync.WaitGroup
				for _, r := range services {
					group.Go(func() {
						for _, n := range []int{1, 10, 3000} {
							issued.Once(t, drawSegment(t, r, "orders", n)...)
						}
					})
				}
				group.Wait()
			}
			first, second := launch(), launch()
			drawAll(first, second, first, second)
			if ids := drawSegment(t, first, "invoices", 3); !slices.Equal(ids, []int64{1, 2, 3}) {
				t.Errorf("invoices are %v, want a counter of its own from 1", ids)
			}
			first.end(t)
			drawAll(second, launch())
		})
	}
}

// drawSegment draws n IDs of a segment, which must increase. It asks again where the store needs
// longer for a range than a request waits.
func drawSegment(t *testing.T, r *running, name string, n int) (ids []int64) {
	var status int
	var body string
	var err error
	poll.Until(t, "a range", func() bool {
		status, body, err = get(http.DefaultClient, fmt.Sprintf("%s/v1/segments/%s?n=%d", r.url(), name, n))
		return !strings.Contains(body, "#no-range")
	})
	var answer struct{ IDs []string }
	if err == nil {
		err = json.Unmarshal([]byte(body), &answer)
	}
	for _, text := range answer.IDs {
		id, errID := strconv.ParseInt(text, 10, 64)
		ids, err = append(ids, id), errors.Join(err, errID)
	}
	if status != http.StatusOK || err != nil || len(ids) != n || !slices.IsSorted(ids) {
		t.Errorf("segment %s: %d, %v: %d IDs, in order: %v; want %d: %.500s\n%s", name, status, err, len(ids), slices.IsSorted(ids), n, body, r.log)
	}
	return ids
}
