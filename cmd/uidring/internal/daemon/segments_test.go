package daemon

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Two services with one store share its counters, and a service that starts later continues them.
func TestSegmentsAreSharedOnEveryStore(t *testing.T) {
	for name, open := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db") },
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
			draw := func(r *running, segment string, n int) (ids []int64) {
				c, err := client.New(client.Config{Servers: []string{r.url()}, Segment: segment, Batch: 100})
				must(t, err)
				for range n {
					id, errNext := c.NextContext(t.Context())
					ids, err = append(ids, id), errors.Join(err, errNext)
				}
				if must(t, errors.Join(err, c.Close())); !slices.IsSorted(ids) {
					t.Errorf("IDs of %s are not in order", segment)
				}
				return ids
			}
			first, second := launch(), launch()
			for _, r := range []*running{first, second, first, second} {
				issued.Once(t, draw(r, "orders", 1500)...)
			}
			if ids := draw(first, "invoices", 3); !slices.Equal(ids, []int64{1, 2, 3}) {
				t.Errorf("invoices are %v, want a counter of its own from 1", ids)
			}
			first.end(t)
			issued.Once(t, draw(launch(), "orders", 1500)...)
			issued.Once(t, draw(second, "orders", 1500)...)
		})
	}
}
