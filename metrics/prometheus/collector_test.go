package prometheus_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/metrics"
	generators "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
)

// collector returns the collector of a generator with these Stats. An empty name stands for no
// label.
func collector[S metrics.Stats](stats S, name string) prometheus.Collector {
	var labels prometheus.Labels
	if name != "" {
		labels = prometheus.Labels{"generator": name}
	}
	return generators.NewCollector(func() S { return stats }, labels)
}

// gather returns the values by the name and the label of a metric.
func gather(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	testkit.Must(t, err)
	values := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			name := []string{f.GetName()}
			for _, l := range m.Label {
				name = append(name, l.GetValue())
			}
			values[strings.Join(name, " ")] = m.Counter.GetValue() + m.Gauge.GetValue()
			if counter := strings.HasSuffix(f.GetName(), "_total"); (m.Counter != nil) != counter || f.GetHelp() == "" {
				t.Errorf("%s: counter %v, help %q", f.GetName(), m.Counter != nil, f.GetHelp())
			}
		}
	}
	return values
}

// Generators of all packages share a registry.
func TestCollectorShowsTheStatsOfItsGenerator(t *testing.T) {
	slow := collector(defaultgen.Stats{WorkerID: 77, LastGranted: assigner.Unlimited}, "slow")
	r := prometheus.NewPedanticRegistry() // which checks that each metric was described, and consistently
	r.MustRegister(collector(cached.Stats{WorkerID: 5, LastGranted: 9, Issued: 7}, "orders"), collector(cached.Stats{WorkerID: 6, LastGranted: 9, Issued: 20}, "users"),
		slow, collector(segment.Stats{Issued: 3}, ""))
	got := gather(t, r)
	for name, want := range map[string]float64{
		"uidring_worker_id orders": 5, "uidring_worker_id users": 6, "uidring_worker_id slow": 77,
		"uidring_issued_ids_total orders": 7, "uidring_issued_ids_total users": 20, "uidring_segment_issued_ids_total": 3,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	const windows = 2 // which slow lacks
	if want := 2*len(metrics.All[cached.Stats]()) + len(metrics.All[defaultgen.Stats]()) - windows + len(metrics.All[segment.Stats]()); len(got) != want {
		t.Errorf("%d values, want %d: %v", len(got), want, got)
	}
	if r.Register(collector(cached.Stats{}, "orders")) == nil {
		t.Error("a second generator with the labels of the first was registered")
	}
	if !r.Unregister(slow) {
		t.Error("slow was not registered")
	}
}

func TestRegisterRefusesMistakes(t *testing.T) {
	for mistake, c := range map[string]prometheus.Collector{
		"label": generators.NewCollector(func() cached.Stats { return cached.Stats{} }, prometheus.Labels{"service\xff": "orders"}),
		"stats func() *cached.Stats (nil: false)": generators.NewCollector(func() *cached.Stats { return nil }, nil),
	} {
		if err := prometheus.NewRegistry().Register(c); err == nil || !strings.Contains(err.Error(), mistake) {
			t.Errorf("Register = %v, want: %s", err, mistake)
		}
	}
}
