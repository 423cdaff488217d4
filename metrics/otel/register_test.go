package otel_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/testgen"
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

func collect(t *testing.T, r *sdk.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

// points returns the data points of a metric, and whether it is a counter.
func points(t *testing.T, m metricdata.Metrics) (points []metricdata.DataPoint[float64], counter bool) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Gauge[float64]:
		return data.DataPoints, false
	case metricdata.Sum[float64]:
		return data.DataPoints, data.IsMonotonic && data.Temporality == metricdata.CumulativeTemporality
	default:
		t.Fatalf("%s is a %T", m.Name, data)
		return nil, false
	}
}

func TestCollectShowsStatsUntilUnregister(t *testing.T) {
	const taken = 12345
	g := testgen.Used(t, taken)
	reader := sdk.NewManualReader()
	registration, err := otel.Register(open(t, reader), g.Stats)
	if err != nil {
		t.Fatal(err)
	}
	before := g.Stats()
	found := collect(t, reader)
	after := g.Stats()
	for before.LastDelta != after.LastDelta { // padding was under way, which moves ID time on while the clock goes on, too
		before, found, after = after, collect(t, reader), g.Stats()
	}
	for _, m := range metrics.All[cached.Stats]() {
		name := strings.Replace(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_total"), "_seconds"), "uidring_", "uidring.", 1)
		f, ok := found[name]
		if !ok || f.Description != m.Help || f.Unit != m.Unit {
			t.Errorf("%s is collected as %+v", name, f)
			continue
		}
		got, counter := points(t, f)
		if len(got) != 1 || counter != m.Counter || got[0].Attributes.Len() != 0 {
			t.Errorf("%s is collected as %+v", name, f)
			continue
		}
		a, _ := m.Value(before)
		b, _ := m.Value(after)
		if v := got[0].Value; v < min(a, b) || v > max(a, b) {
			t.Errorf("%s is collected as %v, Stats before it say %v, after it %v", name, v, a, b)
		}
	}
	if got, _ := points(t, found["uidring.issued_ids"]); len(got) != 1 || got[0].Value != taken {
		t.Errorf("issued: %v, want %d", got, taken)
	}
	if want := len(metrics.All[cached.Stats]()); len(found) != want {
		t.Errorf("%d instruments, want %d", len(found), want)
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	for name, m := range collect(t, reader) {
		if got, _ := points(t, m); len(got) != 0 {
			t.Errorf("%s is collected after Unregister: %v", name, got)
		}
	}
}

// TestAttributesTellGeneratorsApart has two on one meter, one of which is taken away again.
func TestAttributesTellGeneratorsApart(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := open(t, reader)
	attribute := func(name string) attribute.KeyValue { return attribute.String("generator", name) }
	orders, err := otel.Register(meter, testgen.Used(t, 5).Stats, attribute("orders"))
	if err != nil {
		t.Fatal(err)
	}
	slow, err := otel.Register(meter, testgen.Default(t, defaultgen.Config{Assigner: assigner.Static(77)}).Stats, attribute("slow"))
	if err != nil {
		t.Fatal(err)
	}
	values := func(instrument string) map[string]float64 {
		values := make(map[string]float64)
		got, _ := points(t, collect(t, reader)[instrument])
		for _, p := range got {
			v, _ := p.Attributes.Value("generator")
			values[v.AsString()] = p.Value
		}
		return values
	}
	if got := values("uidring.worker_id"); len(got) != 2 || got["slow"] != 77 {
		t.Errorf("worker IDs %v, want two, of slow 77", got)
	}
	if got := values("uidring.window_lasts"); len(got) != 1 || got["orders"] <= 0 {
		t.Errorf("windows %v, want one, of orders: slow has no fence", got)
	}
	if got := values("uidring.issued_ids"); !maps.Equal(got, map[string]float64{"orders": 5}) {
		t.Errorf("issued %v, want 5 of orders: slow does not count", got)
	}
	if err := orders.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := values("uidring.worker_id"); !maps.Equal(got, map[string]float64{"slow": 77}) {
		t.Errorf("worker IDs after one was unregistered: %v", got)
	}
	if err := slow.Unregister(); err != nil {
		t.Fatal(err)
	}
}

// TestPrometheusSeesTheSameNames makes dashboards and alerts fit both ways of exposition.
func TestPrometheusSeesTheSameNames(t *testing.T) {
	registry := client.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo(),
		prometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		t.Fatal(err)
	}
	g := testgen.Used(t, 5)
	registration, err := otel.Register(open(t, exporter), g.Stats, attribute.String("generator", "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer registration.Unregister()
	families := scrape(t, registry)
	var want []string
	for _, m := range metrics.All[cached.Stats]() {
		want = append(want, m.Name)
		kind := dto.MetricType_GAUGE
		if m.Counter {
			kind = dto.MetricType_COUNTER
		}
		if f := families[m.Name]; f == nil || f.GetHelp() != m.Help || f.GetType() != kind {
			t.Errorf("%s is scraped as %v, want a %v with the help %q", m.Name, f, kind, m.Help)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(families)); !slices.Equal(got, want) {
		t.Errorf("scraped %v, want %v", got, want)
	}
	if got := families["uidring_issued_ids_total"].Metric[0].Counter.GetValue(); got != 5 {
		t.Errorf("%v IDs issued, want 5", got)
	}
}

func scrape(t *testing.T, r *client.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	response := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	if response.Code != http.StatusOK {
		t.Fatalf("scrape: %d: %s", response.Code, response.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}
