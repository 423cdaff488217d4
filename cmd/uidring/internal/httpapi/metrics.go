package httpapi

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	generators "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
)

// metrics holds the metrics of the process, the generator and the requests.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	tokenIDs  *prometheus.CounterVec

	answered, refused, failed atomic.Int64 // requests under /v1: all, and those with a status of 4xx and 5xx
}

func newMetrics(cfg Config) (*metrics, error) {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("uidring_http_requests_total", "Requests answered, by route and status code.", "route", "code"),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "uidring_http_request_duration_seconds", Help: "Time from the call of the handler to its end, by route.",
			Buckets: []float64{50e-6, 200e-6, 0.001, 0.005, 0.02, 0.1, 0.5, 2},
		}, []string{"route"}),
		tokens: counters("uidring_token_requests_total", "Requests to routes that require a token, by the name of the token and status code.",
			"token", "code"),
		tokenIDs: counters("uidring_token_ids_total", "IDs answered, by the name of the token.", "token"),
	}
	all := []prometheus.Collector{
		collectors.NewBuildInfoCollector(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		generators.NewCollector(cfg.Generator.Stats, nil), m.requests, m.durations, m.tokens, m.tokenIDs,
		info("uidring_build_info", "1, with the version of the program and of Go.", prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version()}),
	}
	for _, s := range cfg.Segments.All() {
		all = append(all, generators.NewCollector(func() segment.Stats { return s.Stats().Stats }, prometheus.Labels{"segment": s.Name()}))
	}
	if store := cfg.Store; store.ID != "" {
		all = append(all, info("uidring_store_info",
			"1, with the store of the worker ID: servers of a namespace and datacenter have the same id, or give out the same IDs.",
			prometheus.Labels{"store": store.Name, "namespace": store.Namespace, "id": store.ID, "local": strconv.FormatBool(store.Local),
				"datacenter": strconv.FormatInt(cfg.Generator.Stats().DatacenterID, 10)}))
	}
	for _, c := range append(all, cfg.Collectors...) {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// info returns a metric whose labels are the information.
func info(name, help string, labels prometheus.Labels) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return 1 })
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// add makes the metrics of a route appear before its first request.
func (m *metrics) add(route string) {
	m.requests.WithLabelValues(route, "200")
	m.durations.WithLabelValues(route)
}

// count counts a request.
func (m *metrics) count(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
	if !strings.HasPrefix(route, "/v1/") {
		return
	}
	m.answered.Add(1)
	switch status / 100 {
	case 4:
		m.refused.Add(1)
	case 5:
		m.failed.Add(1)
	}
}
