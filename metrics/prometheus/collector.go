// Package prometheus shows the Stats of generators to Prometheus.
//
//	registry.MustRegister(prometheus.NewCollector(generator.Stats, nil))
package prometheus

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/metrics"
)

// NewCollector returns a collector that takes one snapshot of a generator's Stats for each scrape,
// without slowing down callers of Next. constLabels go with every metric; nil: no labels. If
// several generators share a registry, give all of them the same label names, and each its own
// values. Register returns an error for a label name that Prometheus does not allow, a stats
// that is nil, and Stats without metrics, such as a pointer. Unregister the collector when the
// generator is closed.
func NewCollector[S metrics.Stats](stats func() S, constLabels prometheus.Labels) prometheus.Collector {
	c := &collector[S]{stats: stats}
	for _, m := range metrics.All[S]() {
		kind := prometheus.GaugeValue
		if m.Counter {
			kind = prometheus.CounterValue
		}
		c.series = append(c.series, series[S]{prometheus.NewDesc(m.Name, m.Help, nil, constLabels), kind, m.Value})
	}
	if stats == nil || len(c.series) == 0 {
		c.series = []series[S]{{desc: prometheus.NewInvalidDesc(fmt.Errorf("prometheus: NewCollector: stats %T (nil: %t), allowed: the method Stats of a generator, or a func whose result embeds its Stats, no pointer", stats, stats == nil))}}
	}
	return c
}

// A collector is immutable.
type collector[S metrics.Stats] struct {
	stats  func() S
	series []series[S]
}

type series[S metrics.Stats] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(S) (float64, bool)
}

// Describe sends the descriptions of all metrics that Collect may send.
func (c *collector[S]) Describe(descs chan<- *prometheus.Desc) {
	for _, s := range c.series {
		descs <- s.desc
	}
}

// Collect sends the metrics that the generator has at present.
func (c *collector[S]) Collect(collected chan<- prometheus.Metric) {
	stats := c.stats()
	for _, s := range c.series {
		if value, ok := s.value(stats); ok {
			collected <- prometheus.MustNewConstMetric(s.desc, s.kind, value) // Register has checked the labels
		}
	}
}
