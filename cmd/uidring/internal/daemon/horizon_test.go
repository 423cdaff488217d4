package daemon

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A scrape shows the horizon only after a program has called Horizon.
func TestHorizonMetricAppearsWithTheFirstCall(t *testing.T) {
	store := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	testgen.Cached(t, cached.Config{Assigner: assigner.Leased(store, assigner.LeaseConfig{})})
	alloc := testgen.Allocator(t, bitsalloc.Default(), bitsalloc.DefaultEpoch())
	registry := prometheus.NewRegistry()
	registry.MustRegister(newHorizonMetric(store, alloc))
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("%v, %v before the first call of Horizon, want no metric", families, err)
	}
	id, err := leasestore.Horizon(t.Context(), store)
	testkit.Must(t, err)
	f, _ := alloc.Parse(id)
	families, err := registry.Gather()
	testkit.Must(t, err)
	if len(families) != 1 || families[0].GetName() != "uidring_horizon_timestamp_seconds" {
		t.Fatalf("%v after the first call of Horizon, want its metric", families)
	}
	if value := families[0].GetMetric()[0].GetGauge().GetValue(); value < float64(f.Time.Unix()) || value > float64(time.Now().Unix()) {
		t.Errorf("%v after horizon %v, want a time from that on", value, f)
	}
}

// A lockedStore answers late, as SQLite after busy_timeout, and ignores the context.
type lockedStore struct{ leasestore.Store }

func (lockedStore) LoadMeta(context.Context) (leasestore.Meta, error) {
	time.Sleep(5 * time.Second)
	return leasestore.Meta{}, nil
}

func TestHorizonMetricIsAbsentWhileTheStoreIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		newHorizonMetric(lockedStore{}, nil).Collect(nil)
		if took := time.Since(began); took != horizonTimeout {
			t.Errorf("a scrape took %v, want %v", took, horizonTimeout)
		}
		time.Sleep(time.Minute) // the call ends
	})
}

// A client issues IDs from memory, also after the service has stopped. No ID is below a horizon
// that was read before the draw: a reader that has come so far would never see the row of the ID.
func TestHorizonIsBelowTheIDsOfClients(t *testing.T) {
	takesTime(t)
	t.Parallel()
	cfg, log := testConfig(t)
	cfg.MaxAge, cfg.Lease.Window = 2*time.Second, time.Second
	cfg.Generator.Layout = bitsalloc.Layout{DeltaBits: 36, WorkerBits: 10, SequenceBits: 17, Unit: 100 * time.Millisecond}
	cfg.Generator.MaxStaleness = 200 * time.Millisecond
	r := ready(t, cfg, log)
	store, err := storeurl.Open(cfg.StoreURL, cfg.Namespace)
	testkit.Close(t, store, err)
	c, err := client.New(client.Config{Servers: []string{r.url()}})
	testkit.Close(t, c, err)

	var first, horizon int64 // the first ID, and the largest horizon: a reader goes by that
	draws := 0
	draw := func() error {
		h, err := leasestore.Horizon(t.Context(), store)
		testkit.Must(t, err)
		horizon = max(horizon, h)
		id, err := c.Next()
		if err != nil {
			return err
		}
		if id < horizon {
			t.Fatalf("draw %d: ID %d is below the horizon %d", draws, id, horizon)
		}
		first = cmp.Or(first, id)
		draws++
		return nil
	}
	testkit.Until(t, "a horizon above the first ID", func() bool {
		err := draw()
		if err != nil && err != client.ErrEmpty {
			t.Fatal(err)
		}
		return draws > 0 && horizon > first
	})
	r.end(t)
	testkit.Until(t, "a client without IDs", func() bool { return draw() != nil })
	t.Logf("%d draws", draws)
}
