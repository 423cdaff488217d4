package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	generators "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
)

// metrics holds the metrics of the process, the generator and the requests.
type metrics struct {
	registry *prometheus.Registry
	http     *prometheus.Registry // of requests and duration only
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(cfg Config) (*metrics, error) {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		http:     prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "uidring_http_requests_total",
			Help: "Requests answered, by route and status code.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "uidring_http_request_duration_seconds",
			Help:    "Time from the call of the handler to its end, by route.",
			Buckets: []float64{50e-6, 200e-6, 1e-3, 5e-3, 20e-3, 100e-3, 500e-3, 2},
		}, []string{"route"}),
	}
	m.http.MustRegister(m.requests, m.duration) // a new registry has no other collectors
	all := []prometheus.Collector{
		collectors.NewBuildInfoCollector(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		generators.NewCollector(cfg.Generator.Stats, nil), m.requests, m.duration,
	}
	for _, s := range cfg.Segments.All() {
		all = append(all, generators.NewCollector(func() segment.Stats { return s.Stats().Stats }, prometheus.Labels{"segment": s.Name()}))
	}
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	if cfg.Store.ID == "" {
		return m, nil
	}
	return m, m.registry.Register(newStoreInfo(cfg.Store, cfg.Generator.Stats().DatacenterID))
}

// newStoreInfo returns a metric that shows servers of one namespace and datacenter with different
// stores.
func newStoreInfo(store Store, datacenter int64) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "uidring_store_info",
		Help: "1, with the store of the worker ID: servers of a namespace and datacenter have the same id, or give out the same IDs.",
		ConstLabels: prometheus.Labels{"store": store.Name, "namespace": store.Namespace, "id": store.ID,
			"datacenter": strconv.FormatInt(datacenter, 10), "local": strconv.FormatBool(store.Local)},
	})
	info.Set(1)
	return info
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// usage counts the requests of a route.
type usage struct {
	route    string
	requests *prometheus.CounterVec
	ok       prometheus.Counter // requests with status 200, looked up once
	duration prometheus.Observer
}

func (m *metrics) usage(route string) usage {
	return usage{
		route:    route,
		requests: m.requests,
		ok:       m.requests.WithLabelValues(route, "200"),
		duration: m.duration.WithLabelValues(route),
	}
}

// count counts a request. Status 0 means that the handler wrote nothing; net/http then sends 200.
func (u usage) count(status int, took time.Duration) {
	u.duration.Observe(took.Seconds())
	if status == 0 || status == http.StatusOK {
		u.ok.Inc()
		return
	}
	u.requests.WithLabelValues(u.route, strconv.Itoa(status)).Inc()
}
