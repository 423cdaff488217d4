package daemon

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A scrape shows the horizon only after a program has called Horizon.
func TestHorizonMetricAppearsWithTheFirstCall(t *testing.T) {
	store := fileassigner.LeaseStore(testserver.DiskFolder(t))
	testgen.Cached(t, cached.Config{Assigner: assigner.Leased(store, assigner.LeaseConfig{})})
	alloc := testgen.Allocator(t, bitsalloc.Default(), bitsalloc.DefaultEpoch())
	registry := prometheus.NewRegistry()
	registry.MustRegister(newHorizonMetric(store, alloc))
	gather := func() (values []float64) {
		families, err := registry.Gather()
		testkit.Must(t, err)
		for _, f := range families {
			if f.GetName() != "uidring_horizon_timestamp_seconds" {
				t.Errorf("metric %s", f.GetName())
			}
			values = append(values, f.GetMetric()[0].GetGauge().GetValue())
		}
		return values
	}
	if values := gather(); values != nil {
		t.Errorf("%v before the first call of Horizon, want no metric", values)
	}
	id, err := leasestore.Horizon(t.Context(), store)
	testkit.Must(t, err)
	f, _ := alloc.Parse(id)
	if values := gather(); len(values) != 1 || values[0] < float64(f.Time.Unix()) || values[0] > float64(time.Now().Unix()) {
		t.Errorf("%v after horizon %v, want a time from that on", values, f)
	}
}
