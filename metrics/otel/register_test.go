package otel_test

import (
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
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/metrics"
	"github.com/uidring/uidring/metrics/otel"
)

func register(t *testing.T, r sdk.Reader, stats cached.Stats) metric.Registration {
	t.Helper()
	provider := sdk.NewMeterProvider(sdk.WithReader(r))
	registration, err := otel.Register(provider.Meter("ids"), func() cached.Stats { return stats }, attribute.String("generator", "orders"))
	testkit.Must(t, err)
	return registration
}

// collect returns the instruments by name.
func collect(t *testing.T, r *sdk.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	testkit.Must(t, r.Collect(t.Context(), &all))
	found := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

func TestRegisterShowsStatsUntilUnregister(t *testing.T) {
	stats := cached.Stats{WorkerID: 5, LastGranted: assigner.Unlimited, Issued: 12345, Capacity: 65536} // without a window
	reader := sdk.NewManualReader()
	registration := register(t, reader, stats)
	found := collect(t, reader)
	for _, m := range metrics.All[cached.Stats]() {
		name := "uidring." + strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(m.Name, "uidring_"), "_total"), "_seconds")
		var points []metricdata.DataPoint[float64]
		counter := false
		switch data := found[name].Data.(type) {
		case metricdata.Gauge[float64]:
			points = data.DataPoints
		case metricdata.Sum[float64]:
			points, counter = data.DataPoints, data.IsMonotonic && data.Temporality == metricdata.CumulativeTemporality
		}
		want, ok := m.Value(stats)
		if ok != (len(points) == 1) || ok && (points[0].Value != want || counter != m.Counter || found[name].Description != m.Help || found[name].Unit != m.Unit) {
			t.Errorf("%s is collected as %+v, want %v, %v", m.Name, found[name], want, ok)
		} else if ok {
			if generator, _ := points[0].Attributes.Value("generator"); generator.AsString() != "orders" {
				t.Errorf("%s has the attributes %v", m.Name, points[0].Attributes)
			}
		}
	}
	testkit.Must(t, registration.Unregister())
	if found := collect(t, reader); len(found) > 0 {
		t.Errorf("collected %v after Unregister", found)
	}
}

// Dashboards and alerts fit both ways of exposition.
func TestRegisterGivesPrometheusTheSameNames(t *testing.T) {
	registry := client.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo(),
		prometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	testkit.Must(t, err)
	register(t, exporter, cached.Stats{LastGranted: 9, Issued: 5})
	families, err := registry.Gather()
	testkit.Must(t, err)
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

func TestRegisterRefusesStatsWithoutMetrics(t *testing.T) {
	_, err := otel.Register(sdk.NewMeterProvider().Meter("ids"), func() *cached.Stats { return nil })
	if err == nil || !strings.Contains(err.Error(), "stats func() *cached.Stats (nil: false), allowed: ") {
		t.Errorf("Register = %v, want an error with the mistake", err)
	}
}
