package httpapi

import (
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
	registry *prometheus.Registry
	routes   map[string]*usage
	tokens   *prometheus.CounterVec
	tokenIDs *prometheus.CounterVec
}

func newMetrics(cfg Config) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		routes:   make(map[string]*usage),
		tokens: counters("uidring_token_requests_total", "Requests to routes that require a token, by the name of the token and status code.",
			"token", "code"),
		tokenIDs: counters("uidring_token_ids_total", "IDs answered, by the name of the token.", "token"),
	}
	all := []prometheus.Collector{
		collectors.NewBuildInfoCollector(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m, m.tokens, m.tokenIDs,
		info("uidring_build_info", "1, with the version of the program and of Go.", prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version()}),
	}
	for _, s := range cfg.Segments.All() {
		all = append(all, generators.NewCollector(func() segment.Stats { return s.Stats().Stats }, prometheus.Labels{"segment": s.Name()}))
	}
	m.registry.MustRegister(append(all, cfg.Collectors...)...)
	return m
}

// begin adds the metrics of the generator and its store.
func (m *metrics) begin(cfg Config) {
	m.registry.MustRegister(generators.NewCollector(cfg.Generator.Stats, nil))
	if store := cfg.Store; store.ID != "" {
		m.registry.MustRegister(info("uidring_store_info",
			"1, with the store of the worker ID: servers of a namespace and datacenter have the same id, or give out the same IDs.",
			prometheus.Labels{"store": strings.ToValidUTF8(store.Name, "\uFFFD"), "namespace": store.Namespace, "id": store.ID, "local": strconv.FormatBool(store.Local),
				"datacenter": strconv.FormatInt(cfg.Generator.Stats().DatacenterID, 10)}))
	}
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

// The metrics that a usage has.
var (
	requestsDesc = prometheus.NewDesc("uidring_http_requests_total", "Requests answered, by route and status code.", []string{"route", "code"}, nil)
	durationDesc = prometheus.NewDesc("uidring_http_request_duration_seconds", "Time from the call of the handler to its end, by route.",
		[]string{"route"}, nil)
)

// bounds are the upper bounds of the buckets of durations; the last bucket has none.
var bounds = [...]time.Duration{
	50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond,
	500 * time.Millisecond, 2 * time.Second,
}

// A usage counts the requests of a route. Its counters lie together: CPUs that answer requests at
// the same time pass a cache line or two to each other, not some for each metric.
type usage struct {
	nanos   atomic.Int64                   // of all requests
	buckets [len(bounds) + 1]atomic.Uint64 // requests by duration

	mu     sync.Mutex     // held while an error enters both buckets and errors
	errors map[int]uint64 // requests by status other than 200
}

// usage returns the usage of a route. All calls come before the first request.
func (m *metrics) usage(route string) *usage {
	if m.routes[route] == nil {
		m.routes[route] = &usage{errors: make(map[int]uint64)}
	}
	return m.routes[route]
}

// count counts a request.
func (u *usage) count(status int, took time.Duration) {
	bucket := 0
	for bucket < len(bounds) && took > bounds[bucket] {
		bucket++
	}
	u.nanos.Add(int64(took))
	if status != http.StatusOK {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.errors[status]++
	}
	u.buckets[bucket].Add(1)
}

// read returns the number of requests by status, by duration in seconds or less, and of all.
func (u *usage) read() (byStatus map[int]uint64, within map[float64]uint64, all uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	byStatus, within = maps.Clone(u.errors), make(map[float64]uint64)
	for i := range u.buckets {
		if all += u.buckets[i].Load(); i < len(bounds) {
			within[bounds[i].Seconds()] = all
		}
	}
	byStatus[http.StatusOK] = all
	for _, n := range u.errors {
		byStatus[http.StatusOK] -= n
	}
	return byStatus, within, all
}

// Describe and Collect export the usages.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- requestsDesc
	ch <- durationDesc
}

func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for route, u := range m.routes {
		byStatus, within, all := u.read()
		ch <- prometheus.MustNewConstHistogram(durationDesc, all, time.Duration(u.nanos.Load()).Seconds(), within, route)
		for status, n := range byStatus {
			ch <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), route, strconv.Itoa(status))
		}
	}
}
