package conns

import "github.com/prometheus/client_golang/prometheus"

var (
	openDesc = prometheus.NewDesc("uidring_connections",
		"Open connections, by state: active has a request under way, idle has none.", []string{"state"}, nil)
	limitDesc  = prometheus.NewDesc("uidring_connections_limit", "Largest number of connections.", nil, nil)
	closedDesc = prometheus.NewDesc("uidring_connections_closed_total",
		"Connections that were closed because there were too many, by reason: in total (limit), or from one address (address).", []string{"reason"}, nil)
)

// Describe sends the descriptions of the metrics of the Set.
func (s *Set) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, to) }

// Collect sends the metrics of the Set.
func (s *Set) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	active, idle, closed := s.active, s.idle.Len(), s.closed
	s.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(openDesc, active, "active")
	gauge(openDesc, idle, "idle")
	gauge(limitDesc, s.cfg.Max)
	for why, label := range [reasons]string{byLimit: "limit", byAddress: "address"} {
		to <- prometheus.MustNewConstMetric(closedDesc, prometheus.CounterValue, float64(closed[why]), label)
	}
}
