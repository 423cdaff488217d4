package prometheus_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/testgen"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/metrics"
	generators "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
)

func static(t *testing.T) *defaultgen.Generator {
	t.Helper()
	return testgen.Default(t, defaultgen.Config{Assigner: assigner.Static(77), DatacenterID: 3})
}

func registry(t *testing.T, collectors ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry() // which checks that each metric was described, and consistently
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// expose returns the text that a Prometheus server would scrape.
func expose(t *testing.T, r *prometheus.Registry) []byte {
	t.Helper()
	response := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	if response.Code != http.StatusOK {
		t.Fatalf("scrape: %d: %s", response.Code, response.Body)
	}
	return response.Body.Bytes()
}

func scrape(t *testing.T, r *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(expose(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func value(m *dto.Metric) float64 {
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

func TestScrapeShowsStats(t *testing.T) {
	const taken = 12345
	g := testgen.Used(t, taken)
	r := registry(t, generators.NewCollector(g.Stats, nil))
	before := g.Stats()
	families := scrape(t, r)
	after := g.Stats()
	for before.LastDelta != after.LastDelta { // padding was under way, which moves ID time on while the clock goes on, too
		before, families, after = after, scrape(t, r), g.Stats()
	}
	for _, m := range metrics.All[cached.Stats]() {
		f := families[m.Name]
		kind := dto.MetricType_GAUGE
		if m.Counter {
			kind = dto.MetricType_COUNTER
		}
		if f == nil || f.GetHelp() != m.Help || f.GetType() != kind || len(f.Metric) != 1 || len(f.Metric[0].Label) != 0 {
			t.Errorf("%s is scraped as %v, want one %v with the help %q", m.Name, f, kind, m.Help)
			continue
		}
		a, _ := m.Value(before)
		b, _ := m.Value(after)
		if got := value(f.Metric[0]); got < min(a, b) || got > max(a, b) {
			t.Errorf("%s is scraped as %v, Stats before it say %v, after it %v", m.Name, got, a, b)
		}
	}
	if got := value(families["uidring_issued_ids_total"].Metric[0]); got != taken {
		t.Errorf("%v IDs issued, want %d", got, taken)
	}
	if want := len(metrics.All[cached.Stats]()); len(families) != want {
		t.Errorf("%d families, want %d", len(families), want)
	}
}

// A generator of segment shares a registry with one of cached, without labels.
func TestScrapeShowsSegments(t *testing.T) {
	g := segments(t)
	families := scrape(t, registry(t, generators.NewCollector(testgen.Used(t, 1).Stats, nil), generators.NewCollector(g.Stats, nil)))
	for _, m := range metrics.All[segment.Stats]() {
		want, _ := m.Value(g.Stats())
		if f := families[m.Name]; f == nil || len(f.Metric) != 1 || f.GetHelp() != m.Help || value(f.Metric[0]) != want {
			t.Errorf("%s is scraped as %v, want %v", m.Name, f, want)
		}
	}
	if got := value(families["uidring_segment_issued_ids_total"].Metric[0]); got != 3 {
		t.Errorf("%v IDs issued, want 3", got)
	}
}

// segments returns a closed generator of segment that has issued three IDs.
func segments(t *testing.T) *segment.Generator {
	t.Helper()
	source := fileassigner.SegmentSource(t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})
	g, err := segment.New(segment.Config{Name: "orders", Source: source, Step: 10, MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil { // no fetch is under way then
		t.Fatal(err)
	}
	return g
}

func TestGeneratorsShareARegistry(t *testing.T) {
	orders, users, slow := testgen.Used(t, 1), testgen.Used(t, 20), static(t)
	labels := func(name string) prometheus.Labels { return prometheus.Labels{"generator": name} }
	third := generators.NewCollector(slow.Stats, labels("slow"))
	r := registry(t, generators.NewCollector(orders.Stats, labels("orders")), generators.NewCollector(users.Stats, labels("users")), third)
	issued := series(scrape(t, r)["uidring_issued_ids_total"])
	if len(issued) != 2 || issued["orders"] != 1 || issued["users"] != 20 { // defaultgen does not count
		t.Errorf("issued: %v", issued)
	}
	workers := series(scrape(t, r)["uidring_worker_id"])
	want := map[string]int64{"orders": orders.WorkerID(), "users": users.WorkerID(), "slow": 77}
	for name, worker := range want {
		if got, ok := workers[name]; !ok || got != float64(worker) || len(workers) != len(want) {
			t.Errorf("worker IDs %v, want %v", workers, want)
		}
	}
	if windows := series(scrape(t, r)["uidring_window_lasts_seconds"]); len(windows) != 2 || windows["orders"] <= 0 || windows["users"] <= 0 {
		t.Errorf("windows %v, want the windows of the two leases", windows)
	}
	err := r.Register(generators.NewCollector(users.Stats, labels("orders")))
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); !ok {
		t.Errorf("Register of a second generator with the labels of the first: %v", err)
	}
	if !r.Unregister(third) || len(series(scrape(t, r)["uidring_worker_id"])) != 2 {
		t.Error("a collector that was unregistered is scraped")
	}
}

// series returns the values of a family by label.
func series(f *dto.MetricFamily) map[string]float64 {
	values := make(map[string]float64)
	for _, m := range f.GetMetric() {
		values[m.Label[0].GetValue()] = value(m)
	}
	return values
}

// All values of a scrape belong together.
func TestScrapeTakesOneSnapshot(t *testing.T) {
	g := testgen.Used(t, 0)
	var snapshots atomic.Int64
	stats := func() cached.Stats {
		snapshots.Add(1)
		return g.Stats()
	}
	r := registry(t, generators.NewCollector(stats, nil))
	snapshots.Store(0)
	for range 3 {
		scrape(t, r)
	}
	if n := snapshots.Load(); n != 3 {
		t.Errorf("3 scrapes took %d snapshots", n)
	}
}

func TestALabelThatIsNotAllowedIsAnError(t *testing.T) {
	c := generators.NewCollector(func() cached.Stats { return cached.Stats{} }, prometheus.Labels{"service\xff": "orders"})
	if err := prometheus.NewRegistry().Register(c); err == nil || !strings.Contains(err.Error(), "label") {
		t.Errorf("Register: %v", err)
	}
	collected := make(chan prometheus.Metric, 100)
	c.Collect(collected) // by a caller that ignored the error
	close(collected)
	for m := range collected {
		if err := m.Write(new(dto.Metric)); err == nil {
			t.Errorf("%v is valid", m.Desc())
		}
	}
}

func TestPromtoolFindsNothingToImprove(t *testing.T) {
	exposition := expose(t, registry(t, generators.NewCollector(testgen.Used(t, 10).Stats, prometheus.Labels{"generator": "orders"}),
		generators.NewCollector(static(t).Stats, prometheus.Labels{"generator": "slow"}), generators.NewCollector(segments(t).Stats, nil)))
	if out, err := promtool(t, exposition, "check", "metrics"); err != nil || out != "" {
		t.Errorf("promtool check metrics: %v\n%s\nof\n%s", err, out, exposition)
	}
	for _, mistake := range []string{"# HELP uidring_x_total X.\n# TYPE uidring_x_total gauge\nuidring_x_total 1\n", "uidring x\n"} {
		if out, err := promtool(t, slices.Concat(exposition, []byte(mistake)), "check", "metrics"); err == nil {
			t.Errorf("promtool check metrics agrees with %q: %s", mistake, out)
		}
	}
}

// promtool returns the output of promtool.
func promtool(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testserver.Program(t, "promtool", "prometheus"), args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
