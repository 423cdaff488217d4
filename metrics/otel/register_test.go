package otel_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/metrics"
	"github.com/uidring/uidring/metrics/otel"
)

// open returns a meter with a reader behind it.
func open(t *testing.T, r sdk.Reader) metric.Meter {
	t.Helper()
	provider := sdk.NewMeterProvider(sdk.WithReader(r))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return provider.Meter("github.com/uidring/uidring")
}

func register[S metrics.Stats](t *testing.T, meter metric.Meter, stats S, name string) metric.Registration {
	t.Helper()
	registration, err := otel.Register(meter, func() S { return stats }, attribute.String("generator", name))
	if err != nil {
		t.Fatal(err)
	}
	return registration
}

// collect returns all values by instrument and generator, and the instruments.
func collect(t *testing.T, r *sdk.ManualReader) (values map[string]float64, found map[string]metricdata.Metrics) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values, found = make(map[string]float64), make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
			var points []metricdata.DataPoint[float64]
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				points = data.DataPoints
			case metricdata.Sum[float64]:
				points = data.DataPoints
			}
			for _, p := range points {
				generator, _ := p.Attributes.Value("generator")
				values[m.Name+" "+generator.AsString()] = p.Value
			}
		}
	}
	return values, found
}

// want adds the values that a generator with these Stats has.
func want[S metrics.Stats](values map[string]float64, stats S, generator string) {
	for _, m := range metrics.All[S]() {
		if v, ok := m.Value(stats); ok {
			values[instrument(m.Name)+" "+generator] = v
		}
	}
}

func instrument(name string) string {
	return "uidring." + strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "uidring_"), "_total"), "_seconds")
}

// Two generators share a meter until the first one is taken away.
func TestRegisterShowsStatsUntilUnregister(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := open(t, reader)
	ring := cached.Stats{WorkerID: 5, Limit: 9, Issued: 12345, Capacity: 65536}
	plain := defaultgen.Stats{WorkerID: 77, Limit: assigner.Unlimited}
	orders := register(t, meter, ring, "orders")
	register(t, meter, plain, "slow")
	values, found := collect(t, reader)
	for _, m := range metrics.All[cached.Stats]() {
		f := found[instrument(m.Name)]
		sum, counter := f.Data.(metricdata.Sum[float64])
		if f.Description != m.Help || f.Unit != m.Unit || counter != m.Counter || counter && (!sum.IsMonotonic || sum.Temporality != metricdata.CumulativeTemporality) {
			t.Errorf("%s is collected as %+v", m.Name, f)
		}
	}
	both, slow := make(map[string]float64), make(map[string]float64)
	want(slow, plain, "slow")
	want(both, plain, "slow")
	want(both, ring, "orders")
	if !maps.Equal(values, both) {
		t.Errorf("collected %v, want %v", values, both)
	}
	if err := orders.Unregister(); err != nil {
		t.Fatal(err)
	}
	if values, _ := collect(t, reader); !maps.Equal(values, slow) {
		t.Errorf("collected %v after one was unregistered, want %v", values, slow)
	}
}

// Dashboards and alerts fit both ways of exposition.
func TestRegisterGivesPrometheusTheSameNames(t *testing.T) {
	registry := client.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo(),
		prometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		t.Fatal(err)
	}
	register(t, open(t, exporter), cached.Stats{Limit: 9, Issued: 5}, "orders")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got, want := make(map[string]bool), make(map[string]bool)
	for _, f := range families {
		got[f.GetName()] = f.Metric[0].Counter != nil
	}
	for _, m := range metrics.All[cached.Stats]() {
		want[m.Name] = m.Counter
	}
	if !maps.Equal(got, want) {
		t.Errorf("names, and whether they are counters: %v, want %v", got, want)
	}
}
